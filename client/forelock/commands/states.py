"""`forelock amend`, `name-arm`, `close`, `withdraw`, `run-token`, `runs`, `family`: what becomes of a locked plan."""

from __future__ import annotations

import argparse
from typing import Any

from forelock import text
from forelock.arguments import positive
from forelock.client import Client
from forelock.commands import acknowledging
from forelock.commands.common import command
from forelock.files import file_sha256, read_object
from forelock.help_words import translate
from forelock.printing import show
from forelock.server_package import translator_of
from forelock.words import Say, say_of


def add(commands: Any) -> None:
    """Add the parsers of these commands to the command line."""
    parser = command(commands, "amend", _amend, "Amend a locked plan while no result exists.")
    parser.add_argument("id", help="the preregistration")
    parser.add_argument("changes", metavar="FILE", help="a JSON merge patch of the plan")
    parser.add_argument("--reason", required=True, help="why, in a sentence")
    acknowledging.add_to(parser)

    parser = command(
        commands, "name-arm", _name_arm, "Name what the criterion of an arm chose, once, before its results."
    )
    parser.add_argument("id", help="the preregistration")
    parser.add_argument("arm", help="the arm that the plan locks by a criterion")
    parser.add_argument("--model", help="the model that the criterion chose, as the harness calls it")
    parser.add_argument("--revision", help="release, date or commit of its weights")
    parser.add_argument("--card", metavar="FILE", help="JSON: more of the card, as `arms` of a plan have it")
    parser.add_argument("--evidence", metavar="TEXT", help="what shows that the criterion chose it, in words")
    parser.add_argument("--evidence-url", metavar="URL", help="where that can be read")
    parser.add_argument("--evidence-file", metavar="FILE", help="a document that shows it: its hash is sent")

    parser = command(commands, "close", _close, "Close a collection before the planned n, for good.")
    parser.add_argument("id", help="the preregistration")
    parser.add_argument("--deviation", type=positive, required=True, help="the filed deviation of kind `n`")
    parser.add_argument("--reason", required=True, help="why, in a sentence")

    parser = command(commands, "withdraw", _withdraw, "Withdraw a locked preregistration, for good.")
    parser.add_argument("id", help="the preregistration")
    parser.add_argument("--reason", required=True, help="why, in a sentence")

    parser = command(
        commands, "run-token", _bind_run, "Bind a run before it begins; prints what results call it."
    )
    parser.add_argument("id", help="the preregistration")
    parser.add_argument("--arm", required=True, help="the arm that it runs")
    parser.add_argument("--name", help="what results will call it (default: made by the service)")
    for name, what in (("model", "a model by its role"), ("environment", "whatever tells it from others")):
        parser.add_argument(
            f"--{name}", action="append", default=[], metavar="NAME=VALUE", type=_parse_pair, help=what
        )
    parser.add_argument("--judges", metavar="FILE", help="JSON: the judge of each endpoint")
    parser.add_argument("--started-at", metavar="TIME", help="when it began, if it has, with its UTC offset")

    parser = command(commands, "runs", _runs, "List the runs that were bound, and what stands against them.")
    parser.add_argument("id", help="the preregistration")

    parser = command(
        commands, "family", _show_family, "List every registration of the project on the same items."
    )
    parser.add_argument("id", help="a preregistration of the family")


def _amend(options: argparse.Namespace, client: Client) -> int:
    changes, codes = read_object(options.changes), acknowledging.codes_of(options.acknowledge)
    with acknowledging.name_option(options.acknowledge):
        record = client.amend(options.id, changes, options.reason, codes)
    return show(options, record, text.record_text(record, say_of(options)))


def _name_arm(options: argparse.Namespace, client: Client) -> int:
    """Name what an arm's criterion chose, from a card or from the options, with the evidence for the choice."""
    card = read_object(options.card) if options.card else {}
    model = {"name": options.model, "revision": options.revision}
    if any(model.values()):
        card["model"] = {
            **(card.get("model") or {}),
            **{name: stated for name, stated in model.items() if stated},
        }
    sha256 = file_sha256(options.evidence_file) if options.evidence_file else None
    evidence = {"text": options.evidence, "url": options.evidence_url, "sha256": sha256}
    record = client.name_arm(
        options.id, options.arm, card, {name: stated for name, stated in evidence.items() if stated}
    )
    return show(options, record, text.record_text(record, say_of(options)))


def _close(options: argparse.Namespace, client: Client) -> int:
    record = client.close_early(options.id, options.reason, options.deviation)
    closed = record["closed"]
    sentence = say_of(options)("closed", n=closed["received"], of=closed["expected"])
    return show(options, record, sentence)


def _withdraw(options: argparse.Namespace, client: Client) -> int:
    record = client.withdraw(options.id, options.reason)
    return show(options, record, text.record_text(record, say_of(options)))


def _bind_run(options: argparse.Namespace, client: Client) -> int:
    """Bind a run to the models and the environment it is made with, before its results."""
    binding: dict[str, Any] = {
        "arm": options.arm,
        "models": dict(options.model),
        "environment": dict(options.environment),
    }
    if options.name:
        binding["run"] = options.name
    if options.judges:
        binding["judges"] = read_object(options.judges)
    if options.started_at:
        binding["started_at"] = options.started_at
    run = client.bind_run(options.id, binding)
    return show(options, run, text.plain(run["run"]))


def _runs(options: argparse.Namespace, client: Client) -> int:
    """Show the runs that were bound, and the marks against them."""
    runs = client.runs(options.id)
    say = say_of(options)
    translate = translator_of(say.language)
    lines = [
        say("bound", **{name: text.plain(run[name]) for name in ("run", "arm", "bound_at", "bound_by")})
        for run in runs["items"]
    ]
    lines += [
        say(
            "of_name",
            name=say.mark(text.plain(mark["effect"])),
            text=text.plain(translate(text.plain(mark["says"]))),
        )
        for mark in runs["marks"]
    ]
    return show(options, runs, "\n".join(lines) or say("no_runs"))


def _show_family(options: argparse.Namespace, client: Client) -> int:
    """Show the records that were locked to the same items, with their outcomes."""
    place = client.preregistration(options.id)["family"]
    say = say_of(options)
    if place is None:
        return show(options, None, say("no_family"))
    family = client.family(place["id"])
    lines = [
        say("family", n=place["registration"], of=place["of"])
        + (say("family_tried", n=family["tried"]) if family.get("tried") else ""),
        *(
            f"{member['registration']:>4}  {text.plain(member['preregistration_id'])}  "
            f"{text.plain(say.state(member['state']))}  "
            f"{text.plain(member['title'] or say('without_title'))}{_format_outcomes(member, say)}"
            for member in family["items"]
        ),
    ]
    return show(options, family, "\n".join(lines))


def _format_outcomes(registration: text.Json, say: Say) -> str:
    outcomes = registration["outcomes"] or {}
    return "".join(
        "  " + say("of_name", name=text.plain(name), text=say.outcome(text.plain(outcome)))
        for name, outcome in outcomes.items()
    )


def _parse_pair(argument: str) -> tuple[str, str]:
    name, equals, value = argument.partition("=")
    if not equals or not name or not value:
        raise argparse.ArgumentTypeError(translate("must be NAME=VALUE"))
    return name, value
