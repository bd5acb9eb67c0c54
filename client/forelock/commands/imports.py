"""`forelock import`: result files of harnesses, checked before the lock and imported after it."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

from forelock import files, text
from forelock.client import Client
from forelock.commands.common import command
from forelock.commands.reporting import add_reports, report_verdict, require_wait
from forelock.formats import FORMATS
from forelock.import_files import OneImport, Packed, imports_of
from forelock.item_contents import Pinned, compare_contents, describe_contents
from forelock.item_files import read_items
from forelock.mlflow_runs import fetch_run
from forelock.printing import show, tell
from forelock.problem import FileFault
from forelock.reading import read
from forelock.server_package import translator_of
from forelock.trackers.fetching import fetch_experiment
from forelock.trackers.providers import PROVIDERS
from forelock.words import Say, language_of, say_of

Json = dict[str, Any]
_FORMATS = {"openai": "openai_eval_runs"}
"""Of trackers whose format is called otherwise."""


def add(commands: Any) -> None:
    """Add the parser of this command to the command line."""
    parser = command(
        commands, "import", _run, "Import result files of a harness. Repeating is safe: what is in stays."
    )
    parser.add_argument(
        "inputs",
        nargs="*",
        metavar="ID FILE",
        help="the preregistration and its files; with --check files alone",
    )
    parser.add_argument(
        "--check", metavar="PLAN", help="before the lock: what the files hold, beside a plan as JSON"
    )
    parser.add_argument("--items", metavar="FILE", help="with --check: the items of the plan's population")
    parser.add_argument(
        "--arm", help="whose results these are, where the plan does not say where files say it"
    )
    parser.add_argument("--population", help="which population, where the plan has several")
    parser.add_argument("--run", help="the run that was bound before it began, if any was")
    parser.add_argument("--format", choices=FORMATS, help="what wrote the files, where it cannot be told")
    parser.add_argument(
        "--complete",
        action="store_true",
        help="the run is over: planned items that it does not have are missing",
    )
    parser.add_argument(
        "--allow-different",
        action="append",
        default=[],
        choices=("content",),
        metavar="ASPECT",
        help="content: take items of other content than the plan pins; the ledger and the verdict say so",
    )
    add_reports(parser, wait="then wait for the verdict, and end as it says")

    parser.add_argument("--mlflow-run", metavar="RUN", help="fetch this run from MLflow, in place of a file")
    parser.add_argument(
        "--mlflow-uri",
        metavar="URI",
        help="with --mlflow-run: where MLflow is (default: MLFLOW_TRACKING_URI)",
    )

    parser.add_argument(
        "--from",
        dest="tracker",
        choices=[*PROVIDERS],
        help="fetch an experiment from this tracker, in place of a file; its keys are read from the environment",
    )
    parser.add_argument(
        "--experiment",
        metavar="NAME",
        help="with --from: "
        + "; ".join(f"{name}: {provider.experiment}" for name, provider in PROVIDERS.items()),
    )
    parser.add_argument(
        "--at", metavar="URL", help="with --from: where the tracker is, if not where it is by default"
    )


def _run(options: argparse.Namespace, client: Client) -> int:
    """Import or check files that lie here, in a tracker, or in an MLflow run."""
    run = _import if options.check is None else _check
    if options.tracker is None and options.mlflow_run is None:
        return run(options, client)
    with tempfile.TemporaryDirectory() as directory:  # for its owner alone
        paths = _fetch(options, Path(directory))
        if options.check is not None:
            options.inputs = paths
        elif len(options.inputs) != 1:
            source = "--from" if options.tracker is not None else "--mlflow-run"
            raise FileFault(f"with {source} name the preregistration alone")
        else:
            options.inputs = [*options.inputs, *paths]
        return run(options, client)


def _fetch(options: argparse.Namespace, directory: Path) -> list[str]:
    """Fetch an experiment of a tracker, or a run of MLflow, into a directory, and return the paths to read."""
    if options.tracker is None:
        fetch_run(options.mlflow_run, directory, options.mlflow_uri)
        return [str(directory)]
    if options.experiment is None or options.mlflow_run is not None:
        raise FileFault("with --from name the experiment: --experiment")
    paths = fetch_experiment(options.tracker, options.experiment, directory, options.at)
    options.format = options.format or _FORMATS.get(options.tracker, options.tracker)
    return [str(path) for path in paths]


def _import(options: argparse.Namespace, client: Client) -> int:
    """Import the files of a harness into a locked record, one request per file, and show what came of them."""
    require_wait(options)
    prereg_id, *names = options.inputs or [""]
    if not names:
        raise FileFault("name the preregistration and the files: forelock import ID FILE…")
    form, ones = imports_of(names, options.format)
    if options.complete and len(ones) > 1:
        tell(say_of(options)("complete_last"))
    query = {
        name: value
        for name, value in (
            ("arm", options.arm),
            ("population", options.population),
            ("run", options.run),
            ("format", form),
            ("allow_different", next(iter(options.allow_different), None)),
        )
        if value is not None
    }
    bar = text.Bar(say_of(options)("importing"), len(ones), sys.stderr)
    reports = []
    try:
        for number, one in enumerate(ones, start=1):
            last = {"complete": "true"} if options.complete and number == len(ones) else {}
            with Packed(one, lambda sent, of: client.on_wait("sending", sent / of)) as body:
                reports.append(client.import_file(prereg_id, body, query=query | last))
            bar.advance(1)
    finally:
        bar.close()
    unchecked = sum(batch.get("content_unknown", 0) for report in reports for batch in report["batches"])
    if unchecked:
        tell(say_of(options)("content_unchecked", n=unchecked))
    if not (options.wait and options.json):
        lines = [
            _format_report(one, report, say_of(options)) for one, report in zip(ones, reports, strict=True)
        ]
        show(options, reports, "\n".join(lines))
    options.id = prereg_id
    return report_verdict(options, client, wait=True) if options.wait else 0


def _format_report(one: OneImport, report: Json, say: Say) -> str:
    """Say of each batch of a file how many results it brought and what it lacks, and how far the record is."""
    lines = [
        say(
            "import_batch",
            file=text.plain(one.name),
            cell=f"{text.plain(batch['arm'])} / {text.plain(batch['endpoint'])}",
            stored=_say_stored(batch, say),
        )
        + (say("import_skipped", n=batch["skipped"]) if batch["skipped"] else "")
        + _list_ids(batch["unknown"], batch["unknown_ids"], "not_in_manifest", say)
        + _list_ids(batch["missing"], batch["missing_ids"], "not_in_file", say)
        + _say_other_system(batch.get("card_differs") or [], say)
        + _list_ids(
            batch.get("content_differs", 0), batch.get("content_differs_ids") or [], "of_other_content", say
        )
        for batch in report["batches"]
    ]
    state = say.state(report["state"])
    return "\n".join([*lines, say("results_in", n=report["received"], of=report["expected"], state=state)])


def _say_stored(batch: Json, say: Say) -> str:
    """With `--complete` more may be stored than the file has."""
    n, rows = batch["n"], batch["rows"]
    return say("stored_more" if n > rows else "stored", n=n, rows=rows)


def _list_ids(n: int, ids: list[str], code: str, say: Say) -> str:
    if not n:
        return ""
    quoted = say("names").join([*map(text.plain, ids[:5]), *(["…"] if len(ids) > 5 else [])])
    return say(code, n=n, ids=quoted)


def _say_other_system(fields: list[str], say: Say) -> str:
    names = say("names").join(text.plain(field) for field in fields)
    return say("other_system", names=names) if fields else ""


def _check(options: argparse.Namespace, client: Client) -> int:
    """Check files under the import section of a plan that is not locked, and without one propose it."""
    if not options.inputs:
        raise FileFault("name the files: forelock import --check PLAN FILE…")
    plan = files.read_object(options.check)
    section = plan.get("import")
    form_of_plan = section.get("format") if isinstance(section, dict) else None
    form, ones = imports_of(
        options.inputs, options.format or (form_of_plan if form_of_plan in FORMATS else None)
    )
    items = Pinned.of(read_items(options.items)) if options.items else None
    surveys, status = [], 0
    for one in ones:
        read_ = read(client, one, form, section if isinstance(section, dict) else None, options.arm)
        contents = compare_contents(read_["table"] or (), items)
        surveys.append({"files": [str(path) for path in one.paths], **read_, **contents})
        refused = bool(contents.get("content_differs")) and "content" not in options.allow_different
        status = status or int(read_["problem"] is not None or refused)
    lines = [
        line
        for one, survey in zip(ones, surveys, strict=True)
        for line in _list_survey(one, survey, items, language_of(options))
    ]
    said = translator_of(language_of(options))
    lines += map(said, describe_contents(surveys, allowed="content" in options.allow_different))
    if not isinstance(section, dict):
        lines += ["", '"import": ' + text.json_text(surveys[0]["survey"]["section"])]
        lines.append(say_of(options)("paste_section"))
    show(options, surveys, "\n".join(lines))
    return status


def _list_survey(one: OneImport, read: Json, items: Pinned | None, language: str) -> list[str]:
    """List what a file holds, what an import section makes of it, and what keeps it from being read."""
    survey, say, said = read["survey"], Say(language), translator_of(language)
    lines = [say("file_holds", file=text.plain(one.name), format=survey["format"], n=survey["samples"])]
    if survey["partial"]:
        lines.append("  " + say("file_partial", what=said(survey["partial"])))
    for name, measure in survey["measures"].items():
        values = say("names").join(text.plain(sample) for sample in measure["texts"])
        if measure["least"] is not None:
            ends = say("from_to", least=f"{measure['least']:g}", greatest=f"{measure['greatest']:g}")
            values = say("names").join(filter(None, (ends, values)))
        odd = "".join(say("and_odd", n=n, event=say.event(event)) for event, n in measure["events"].items())
        told = say("measure_holds", name=text.plain(name), n=measure["n"], values=values or say("no_values"))
        lines.append(f"  {told}{odd}")
    lines += [
        "  " + say("samples_with", n=n, event=say.event(event)) for event, n in survey["events"].items()
    ]
    lines += ["  " + say("survey_ids", path=text.plain(path), n=n) for path, n in survey["ids"].items()]
    lines += [
        "  " + say("survey_clusters", path=text.plain(path), n=n) for path, n in survey["clusters"].items()
    ]
    lines += [
        "  " + say("survey_arm", path=text.plain(path), values=say("names").join(map(text.plain, values)))
        for path, values in survey["arms"].items()
        if "arm" in path.lower()
        or path in ("model", "provider.label", "prompt.label", "identifier", "run_name")
    ]
    if survey["replicates"] > 1:
        lines.append("  " + say("survey_replicates", n=survey["replicates"]))
    if read["problem"] is not None:
        lines.append("  " + say("section_reads_not"))
        faults = read["problem"].get("errors") or [
            {"path": "", "message": read["problem"]["detail"], "fix": ""}
        ]
        lines += [
            "    "
            + say(
                "fault_line",
                path=text.plain(fault["path"]),
                message=text.plain(said(fault["message"])),
                fix=text.plain(said(fault["fix"])),
            )
            for fault in faults
        ]
    for table in read["table"] or ():
        lines.append("  " + _say_overlap(table, None if items is None else items.ids, say))
    return lines


def _say_overlap(table: Json, items: frozenset[str] | None, say: Say) -> str:
    ids = frozenset(table["item_ids"])
    counts = {word: table["status"].count(word) for word in ("ok", "error", "missing")}
    words = say("names").join(
        say("count_of_event", n=n, event=say.event(word)) for word, n in counts.items() if n
    )
    line = say("under_the_plan", n=len(table["item_ids"]), items=len(ids), counts=words)
    if items is None:
        return line
    return line + say("of_the_plan", n=len(ids & items), of=len(items), others=len(ids - items))
