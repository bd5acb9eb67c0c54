"""What checking a bundle found, for people and for programs."""

from __future__ import annotations

from typing import Any

from forelock.bundles.findings import NOT_PROVEN, Report
from forelock.server_package import translator_of
from forelock.text import OUTCOMES, hanging, plain
from forelock.words import ENGLISH, Say, width_of

LONGEST = 2_000
"""Characters of a text of others that are shown."""


def as_text(report: Report, file: str, status: int, say: Say = ENGLISH) -> str:
    """One line per thing that was checked, what a reader has to know beside it, and what cannot be proven."""
    head = plain(file)
    if report.preregistration_id is not None:
        head += say("bundle_of", id=_brief(report.preregistration_id))
    if report.title:
        head += say("comma") + _brief(report.title)
    translate = translator_of(say.language)
    lines = [head, ""]
    lines += [
        hanging(
            say("of_name", name=say.check(check.name), text=_brief(translate(check.sentence))),
            _mark(check.state, say),
        )
        for check in report.checks
    ]
    if report.marks:
        lines += ["", say("read_beside")]
        lines += [hanging(_brief(translate(mark)), "  - ") for mark in report.marks]
    lines += ["", _conclusion(report, status, say)]
    if not report.has("fail"):
        lines += ["", say("no_check_shows")]
        lines += [hanging(say(f"not_proven_{at}"), "  - ") for at in range(len(NOT_PROVEN))]
    return "\n".join(lines)


def _mark(state: str, say: Say) -> str:
    """Return what begins the line of a check, to the right of its column."""
    mark = say(f"check_{state}")
    return f"  {' ' * max(11 - width_of(mark), 0)}{mark}  "


def _brief(text: str) -> str:
    """Text of others on a terminal, of a length that can be read."""
    return plain(text if len(text) <= LONGEST else f"{text[:LONGEST]} …")


def as_json(report: Report, file: str, status: int) -> dict[str, Any]:
    """Return the report of a bundle's checks as a JSON document."""
    return {
        "file": file,
        "preregistration_id": report.preregistration_id,
        "title": report.title,
        "plan_sha256": report.plan_sha256,
        "log_key": report.log,
        "outcomes": _outcomes(report),
        "checks": [
            {"name": check.name, "state": check.state, "sentence": check.sentence} for check in report.checks
        ],
        "marks": list(report.marks),
        "differing": list(report.differing),
        "not_proven": list(NOT_PROVEN),
        "exit_status": status,
    }


def _outcomes(report: Report) -> dict[str, str]:
    if report.verdict is None or report.has("fail"):
        return {}
    return {
        str(hypothesis.get("id")): str(hypothesis.get("outcome"))
        for hypothesis in report.verdict["hypotheses"]
    }


def _conclusion(report: Report, status: int, say: Say) -> str:
    """Return the last lines of a report: whether the bundle holds, and the outcomes of its verdict."""
    failed = sum(check.state == "fail" for check in report.checks)
    if failed:
        return say("bundle_fails", n=failed, of=len(report.checks))
    if report.verdict is None:
        return say("sentences_of", first=say("bundle_holds"), second=say("bundle_no_verdict"))
    lines = [
        "  "
        + say(
            "of_name",
            name=plain(name),
            text=say(f"verdict_{outcome}") if outcome in OUTCOMES else plain(outcome),
        )
        for name, outcome in _outcomes(report).items()
    ]
    conclusion = say("bundle_differs" if report.has("differs") else "bundle_holds")
    verdict = say("bundle_verdict", status=status)
    return "\n".join([say("sentences_of", first=conclusion, second=verdict), *lines])
