"""Names in a plan that nothing there has: one finding, with the known name that is nearest."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from service.domain.nearest import nearest
from service.domain.plans.findings import Finding, error
from service.words import say


def check_name(noun: str, name: str, known: Collection[str], path: str) -> Iterator[Finding]:
    """Yield the error of a name that is not among those `known`; `noun` says what it should name, as `endpoint`."""
    if name in known:
        return
    key, meant = "findings.unknown_name", nearest(name, known)
    values = {"noun": say(f"findings.{noun}"), "name": name}
    values["known"] = ", ".join(f"'{other}'" for other in sorted(known)) or "none"
    if meant is not None:
        key, values["meant"] = "findings.unknown_name_near", meant
    yield error("UNKNOWN_NAME", path, say(key, **values))
