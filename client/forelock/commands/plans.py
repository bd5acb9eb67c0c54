"""`forelock plan`: write, check, lock and show preregistrations."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from forelock import files, text, wizard
from forelock.client import Client
from forelock.commands import acknowledging
from forelock.commands.common import bare, command, group
from forelock.drafting import draft
from forelock.help_words import translate
from forelock.item_files import read_items
from forelock.pilot_files import read_pilot
from forelock.power_text import power_text
from forelock.printing import show, show_ended, tell
from forelock.problem import FileFault, ForelockError
from forelock.questions.options import add_options
from forelock.questions.tables.choices import Choices
from forelock.server_package import translator_of
from forelock.words import language_of, pad, say_of

MOST_SIDES = 2
STATES = ("draft", "locked", "collecting", "complete", "judged", "withdrawn")


def add(commands: Any) -> None:
    """Add the parsers of these commands to the command line."""
    steps = group(commands, "plan", "Write, check, lock and show preregistrations.")
    _add_new(steps)
    _add_from(steps)

    create = command(
        steps, "create", _create, "Make a draft of a plan, with its item manifests; prints its id."
    )
    create.add_argument(
        "file", help="the plan as JSON, or as Markdown such as EXPERIMENTS_PREREG.md; - reads standard input"
    )
    _add_items(create)

    edit = command(
        steps, "edit", _edit, "Change a draft: what the file names is replaced, null takes it out."
    )
    edit.add_argument("id", help="the preregistration")
    edit.add_argument("file", help="the changes as JSON, such as a whole plan; - reads standard input")
    _add_items(edit)

    lint = command(steps, "lint", _lint, "List the gaps of a plan; status 1 when the lock would be refused.")
    lint.add_argument("id", help="the preregistration")

    power = command(
        steps, "power", _power, "How often each rule would hold, by what the plan or a pilot says."
    )
    power.add_argument(
        "plan", help="the preregistration, or a plan as JSON or Markdown, of which no draft is kept"
    )
    power.add_argument(
        "--pilot",
        metavar="FILE",
        help="pilot items as CSV, NDJSON or JSON: baseline, candidate, cluster; hypothesis, population, endpoint",
    )
    _add_items(power)

    for where in (steps, commands):  # `forelock lock` is the same
        lock = command(where, "lock", _lock, "Lock the plan for good.")
        lock.add_argument("id", help="the preregistration")
        acknowledging.add_to(lock)
        lock.add_argument(
            "--mlflow-run",
            metavar="RUN",
            help="a run of the project's MLflow that is to carry lock and verdict",
        )

    show_parser = command(steps, "show", _show, "Show a preregistration.")
    show_parser.add_argument("id", help="the preregistration")

    listed = command(steps, "list", _list, "List the project's preregistrations, newest first.")
    listed.add_argument("--state", choices=STATES, help="only records in this state")

    delete = command(steps, "delete", _delete, "Delete a draft. What was locked stays.")
    delete.add_argument("id", help="the preregistration")


def _add_new(steps: Any) -> None:
    """Add the subcommand that writes a plan to start from."""
    parser = bare(steps, "new", "Write a plan to start from: by questions on a terminal, else a template.")
    parser.add_argument("file", help="where to write it; it may not exist yet")
    parser.add_argument("--template", action="store_true", help="ask nothing, write the template")
    parser.add_argument("--json", action="store_true", help="print the plan as well")

    def run(options: argparse.Namespace) -> int:
        file_name = Path(options.file)
        if file_name.suffix.lower() in files.MARKDOWN:
            raise FileFault(
                f"{options.file}: the plan is written as JSON; name it {file_name.with_suffix('.json')}"
            )
        asks = sys.stdin.isatty() and sys.stderr.isatty() and not options.template
        with _new_file(Path(options.file)) as file:
            plan = wizard.ask(say=say_of(options)) if asks else wizard.TEMPLATE
            written = json.dumps(plan, indent=2, ensure_ascii=False) + "\n"
            file.write(written)
        if options.json:
            print(written, end="")
        (population,) = plan["populations"]
        code = "plan_written_clusters" if "clusters" in population else "plan_written"
        tell(say_of(options)(code, file=options.file, population=population["id"]))
        return 0

    parser.set_defaults(handler=run)


def _add_from(steps: Any) -> None:
    """Add `forelock plan from`, which drafts a plan from result files."""
    parser = command(
        steps,
        "from",
        _draft_from,
        "Draft a whole plan from two result files of earlier runs, the baseline's first.",
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="a file or folder of each run")
    parser.add_argument("--arms", metavar="BASE,CAND", help="which systems, where a file holds several")
    add_options(parser, "cluster", "metric", "lower", "set", "format")
    parser.add_argument(
        "--out",
        default="plan.json",
        metavar="PLAN",
        help="where to write it (plan.json), with plan.items.csv and plan.pilot.csv beside it",
    )


def _draft_from(options: argparse.Namespace, client: Client) -> int:
    """Draft a plan from result files, and write it with its items and its pilot to new files."""
    if len(options.files) > MOST_SIDES:
        raise FileFault("name two runs, the baseline's first, or one file that holds both")
    made = draft(client, options.files, Choices.of(options))
    out = Path(options.out)
    base = out.with_suffix("") if out.suffix == ".json" else out
    items, pilot = base.with_name(f"{base.name}.items.csv"), base.with_name(f"{base.name}.pilot.csv")
    written = json.dumps(made.plan, indent=2, ensure_ascii=False) + "\n"
    with _new_file(out) as first, _new_file(items) as second, _new_file(pilot) as third:
        first.write(written)
        second.write(made.items)
        third.write(made.pilot)
    if options.json:
        print(text.json_text(made.plan))
    for remark in made.remarks:
        tell(text.plain(translator_of(language_of(options))(remark)))
    population = made.plan["populations"][0]["id"]
    tell(say_of(options)("plan_drafted", out=out, items=items, pilot=pilot, population=population))
    return 0


@contextlib.contextmanager
def _new_file(path: Path) -> Iterator[TextIO]:
    """A file that is made before anything is asked, and taken back when nothing comes of it.

    Raises:
        FileFault: it is there already, or cannot be made.
    """
    try:
        with path.open("x", encoding="utf-8") as file:
            try:
                yield file
            except BaseException:
                path.unlink()
                raise
    except FileExistsError:
        raise FileFault(f"{path}: is there already; choose another name") from None
    except OSError as error:
        raise files.unwritten(path, error) from error


def _add_items(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--items",
        action="append",
        default=[],
        type=_parse_manifest,
        metavar="POPULATION=FILE",
        help="a population's items, as CSV, NDJSON or JSON (item_id, cluster, stratum, content_sha256); repeatable",
    )


def _parse_manifest(argument: str) -> tuple[str, str]:
    population, equals, path = argument.partition("=")
    if not (population and equals and path):
        raise argparse.ArgumentTypeError(translate("write POPULATION=FILE"))
    return population, path


Manifests = list[tuple[str, bytes]]


def _read_manifests(options: argparse.Namespace) -> Manifests:
    """Return every population's items as JSON columns; they are read here, so that a fault names its line."""
    manifests = []
    for population, path in options.items:
        items = read_items(path)
        if items.unused:
            names = text.plain(", ".join(items.unused))
            tell(say_of(options)("not_used", file=text.plain(path), names=names))
        manifests.append((population, items.body()))
    return manifests


def _power(options: argparse.Namespace, client: Client) -> int:
    """Show the power of a draft, or of a plan in a file, which becomes a draft for so long."""
    pilots = read_pilot(options.pilot) if options.pilot else []
    if options.plan != "-" and Path(options.plan).suffix.lower() not in (".json", *files.MARKDOWN):
        report = client.power(options.plan, pilots)
    else:
        plan, manifests = files.read_plan(options.plan), _read_manifests(options)
        draft = client.create_plan(plan)["id"]
        try:
            for population, content in manifests:
                client.put_items(draft, population, content)
            report = client.power(draft, pilots)
        finally:
            client.delete_draft(draft)
    return show(options, report, power_text(report, say_of(options), translator_of(language_of(options))))


def _create(options: argparse.Namespace, client: Client) -> int:
    """Make a draft with its items; where the items are refused, the draft is deleted again."""
    plan, manifests = files.read_plan(options.file), _read_manifests(options)
    record = client.create_plan(plan)
    gaps = record.get("gaps") or []
    try:
        for population, content in manifests:
            client.put_items(record["id"], population, content)
    except ForelockError:
        with contextlib.suppress(ForelockError):  # the fault of the items is what has to be told
            client.delete_draft(record["id"])
        raise
    if manifests:
        record = client.preregistration(record["id"]) | ({"gaps": gaps} if gaps else {})
    say = say_of(options)
    tell(text.record_text(record, say))
    if gaps:
        tell(text.gaps_text(gaps, say, translator_of(say.language)))
    return show(options, record, record["id"])


def _edit(options: argparse.Namespace, client: Client) -> int:
    changes, manifests = files.read_object(options.file), _read_manifests(options)
    record = client.edit_plan(options.id, changes)
    for population, content in manifests:
        client.put_items(options.id, population, content)
    if manifests:
        record = client.preregistration(options.id)
    return show(options, record, text.record_text(record, say_of(options)))


def _lint(options: argparse.Namespace, client: Client) -> int:
    findings = client.lint(options.id)
    listed = text.findings_text(findings, say_of(options), translator_of(language_of(options)))
    show(options, {"findings": findings}, listed)
    return int(any(finding["severity"] == "error" for finding in findings))


def _lock(options: argparse.Namespace, client: Client) -> int:
    codes = acknowledging.codes_of(options.acknowledge)
    with acknowledging.name_option(options.acknowledge):
        record = client.lock(options.id, codes, mlflow_run=options.mlflow_run)
    return show(options, record, text.record_text(record, say_of(options)))


def _show(options: argparse.Namespace, client: Client) -> int:
    record = client.preregistration(options.id)
    return show(options, record, text.record_text(record, say_of(options)))


def _list(options: argparse.Namespace, client: Client) -> int:
    records = list(client.preregistrations(state=options.state))
    say = say_of(options)
    lines = [
        f"{text.plain(record['created_at'])}  {text.plain(record['id'])}  {pad(say.state(record['state']), 10)}  "
        f"{text.plain(record['title'] or '')}".rstrip()
        + (
            say("listed_embargo", until=text.plain(record["embargo_until"]))
            if record.get("embargo_until")
            else ""
        )
        for record in records
    ]
    return show(options, records, "\n".join(lines) or say("no_preregistrations"))


def _delete(options: argparse.Namespace, client: Client) -> int:
    client.delete_draft(options.id)
    return show_ended(options, "deleted")
