"""What checking a bundle found, for people and for programs."""

from __future__ import annotations

from typing import Any

from forelock.bundles.findings import NOT_PROVEN, Report
from forelock.text import OUTCOMES, hanging, plain

LONGEST = 2_000
"""Characters of a text of others that are shown."""
_MARKS = {"pass": "pass", "fail": "FAIL", "differs": "DIFFERS", "not_checked": "not checked"}


def as_text(report: Report, file: str, status: int) -> str:
    """One line per thing that was checked, what a reader has to know beside it, and what cannot be proven."""
    head = plain(file)
    if report.preregistration_id is not None:
        head += f": preregistration {_brief(report.preregistration_id)}"
    if report.title:
        head += f", {_brief(report.title)}"
    lines = [head, ""]
    lines += [
        hanging(f"{check.name}: {_brief(check.sentence)}", f"  {_MARKS[check.state]:>11}  ")
        for check in report.checks
    ]
    if report.marks:
        lines += ["", "Read beside it"]
        lines += [hanging(_brief(mark), "  - ") for mark in report.marks]
    lines += ["", _conclusion(report, status)]
    if not report.has("fail"):
        lines += ["", "No check can show"]
        lines += [hanging(sentence, "  - ") for sentence in NOT_PROVEN]
    return "\n".join(lines)


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


def _conclusion(report: Report, status: int) -> str:
    """Return the last lines of a report: whether the bundle holds, and the outcomes of its verdict."""
    failed = sum(check.state == "fail" for check in report.checks)
    if failed:
        return f"DOES NOT HOLD: {failed} of {len(report.checks)} checks failed. Believe nothing it says."
    if report.verdict is None:
        return "Everything that was checked holds. There is no verdict in it."
    lines = [
        f"  {plain(name)}: {OUTCOMES.get(outcome, plain(outcome))}"
        for name, outcome in _outcomes(report).items()
    ]
    conclusion = (
        "Judged again here it is not the same, as told above."
        if report.has("differs")
        else "Everything that was checked holds."
    )
    return "\n".join([f"{conclusion} The verdict (exit status {status}):", *lines])
