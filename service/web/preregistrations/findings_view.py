"""What lint says of a plan, each thing once, with the names of what it is said of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from service.domain.plans.findings import Finding, name_at
from service.domain.plans.plan import Plan


@dataclass(frozen=True, slots=True)
class FindingView:
    """A finding as pages show it."""

    code: str
    message: str
    of: tuple[str, ...]
    """The hypotheses, populations, endpoints or tests that it is said of, by their ids; empty for the whole plan."""
    paths: tuple[str, ...]
    """Where in the plan they are; empty for the whole plan."""


def merge_findings(plan: Plan, findings: Iterable[Finding]) -> tuple[FindingView, ...]:
    """Return the findings in their order; what is said of several in the same words is one."""
    paths_by_message: dict[tuple[str, str], list[str]] = {}
    for finding in findings:
        paths = paths_by_message.setdefault((finding.code, finding.message), [])
        if finding.path and finding.path not in paths:
            paths.append(finding.path)
    return tuple(
        FindingView(
            code,
            message,
            tuple(dict.fromkeys(filter(None, (name_at(plan, path) for path in paths)))),
            tuple(paths),
        )
        for (code, message), paths in paths_by_message.items()
    )
