"""`forelock deviations`, `looks`, `multiverse` and `calibrate`: what stands beside a verdict."""

from __future__ import annotations

import argparse
from typing import Any

from forelock.arguments import positive
from forelock.client import Client
from forelock.commands.common import command
from forelock.connection import Json
from forelock.files import read_object
from forelock.printing import show
from forelock.server_package import translator_of
from forelock.text import plain
from forelock.words import Say, language_of, say_of


def add(commands: Any) -> None:
    """Add the parsers of these commands to the command line."""
    parser = command(commands, "deviations", _deviations, "List a record's deviations, or file one.")
    parser.add_argument("id", help="the preregistration")
    parser.add_argument("--file", metavar="FILE", help="JSON: the deviation to file")

    parser = command(
        commands, "looks", _show_looks, "Show the looks of a plan that has some, or take the one due."
    )
    parser.add_argument("id", help="the preregistration")
    parser.add_argument("--take", action="store_true", help="take the look that is due, and wait for it")

    parser = command(commands, "multiverse", _multiverse, "Read a verdict under the other choices on record.")
    parser.add_argument("id", help="the preregistration")

    parser = command(
        commands, "calibrate", _calibrate, "How often a locked procedure passes where nothing is to be found."
    )
    parser.add_argument("id", help="the preregistration")
    parser.add_argument("--runs", type=positive, default=1000, help="runs of the procedure (default: 1000)")
    parser.add_argument("--seed", type=int, default=1, help="where chance begins (default: 1)")
    parser.add_argument(
        "--pilot", metavar="FILE", help="JSON: `pilot` columns, where there is no verdict yet"
    )


def _deviations(options: argparse.Namespace, client: Client) -> int:
    if options.file is not None:
        filed = client.file_deviation(options.id, read_object(options.file))
        return show(options, filed, _format_deviation(filed, say_of(options)))
    deviations = list(client.deviations(options.id))
    say = say_of(options)
    lines = [_format_deviation(deviation, say) for deviation in deviations]
    return show(options, deviations, "\n".join(lines) or say("no_deviation"))


def _show_looks(options: argparse.Namespace, client: Client) -> int:
    """Show the planned looks and those that were taken, or take the one that is due."""
    say = say_of(options)
    if options.take:
        taken = client.take_look(options.id)
        decision = say.decision(plain(taken.get("decision", "taken")))
        return show(options, taken, say("look_now", decision=decision))
    looks = client.looks(options.id)
    lines = [
        say("look_taken", n=look["look"], decision=say.decision(plain(look["decision"])))
        for look in looks["taken"]
    ]
    planned = [
        say("looks_planned", name=plain(name), at=say("names").join(map(str, at)))
        for name, at in looks["planned"].items()
    ]
    due = looks["due"]
    lines.append(say("no_look_due") if due is None else say("look_due", n=due, id=options.id))
    return show(options, looks, "\n".join([*planned, *lines]))


def _multiverse(options: argparse.Namespace, client: Client) -> int:
    multiverse = client.multiverse(options.id)
    sentences = [hypothesis["sentence"] for hypothesis in multiverse["hypotheses"]]
    said = map(translator_of(language_of(options)), [*sentences, *multiverse["reasons"], multiverse["note"]])
    return show(options, multiverse, "\n".join(map(plain, said)))


def _calibrate(options: argparse.Namespace, client: Client) -> int:
    """Calibrate a locked procedure, on a pilot's file if one is named, and show how often each hypothesis passes."""
    request = {"runs": options.runs, "seed": options.seed}
    if options.pilot is not None:
        request |= read_object(options.pilot)
    calibration = client.calibrate(options.id, request, timeout=options.timeout)
    return show(
        options,
        calibration,
        "\n".join(_format_rate(hypothesis) for hypothesis in calibration.get("hypotheses", []))
        or say_of(options)("nothing_run"),
    )


def _format_deviation(deviation: Json, say: Say) -> str:
    decision = deviation.get("decision") or {}
    classified = decision.get("classification") or deviation.get("classification") or "not decided"
    return f"{deviation['deviation']}  {say.decision(plain(classified))}  {plain(deviation['title'])}"


def _format_rate(hypothesis: Json) -> str:
    sentence = hypothesis.get("sentence")
    return plain(sentence if sentence is not None else hypothesis.get("hypothesis", ""))
