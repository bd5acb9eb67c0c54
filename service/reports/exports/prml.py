"""A hypothesis of a locked plan as a PRML manifest (v0.1), in the canonical bytes that its SHA-256 is of.

PRML compares one number with one threshold, and a locked rule has many parts. So the number is the rule's outcome:
`forelock_rule_holds` is 1 where the verdict says `supported`, and 0 otherwise; `metric_args` name the plan and the
rule that it follows from.
"""

from __future__ import annotations

import hashlib
import math
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from service.domain.plans.locked import LockedPlan
from service.domain.plans.plan import Plan
from service.domain.plans.sections.hypothesis import Hypothesis
from service.errors import Conflict, InvalidData

VERSION = "prml/0.1"
METRIC = "forelock_rule_holds"
MEDIA_TYPE = "application/vnd.prml+yaml"


def claim_of(
    versions: Sequence[LockedPlan],
    *,
    record: str,
    created_at: datetime,
    hypothesis: str | None,
    producer: str,
) -> bytes:
    """Return the manifest of the last of a record's locked versions, which names the one before by its hash.

    Raises:
        InvalidData: the plan has several hypotheses, or none of that id.
        Conflict: its population has no manifest, so that there is no hash of its items.
    """
    claimed = _choose_hypothesis(versions[-1].plan, hypothesis)
    prior: str | None = None
    manifest = b""
    for version in versions:
        if not any(hypothesis.id == claimed.id for hypothesis in version.plan.hypotheses or ()):
            continue
        manifest = canonical_bytes(
            _make_manifest(
                version, record=record, created_at=created_at, hypothesis=claimed.id, producer=producer
            )
            | ({} if prior is None else {"prior_hash": prior})
        )
        prior = hashlib.sha256(manifest).hexdigest()
    return manifest


def canonical_bytes(manifest: Mapping[str, Any]) -> bytes:
    """Return a manifest as PRML hashes it (section 3): sorted keys, blocks, one line per scalar.

    Example:
        >>> canonical_bytes({"version": "prml/0.1", "threshold": 1, "seed": 2})
        b'seed: 2\\nthreshold: 1.0\\nversion: prml/0.1\\n'
    """
    import yaml

    numbers = {"threshold": float(manifest["threshold"])}
    text: str = yaml.safe_dump(
        {**manifest, **numbers}, default_flow_style=False, sort_keys=True, width=math.inf, allow_unicode=True
    )
    return (text.rstrip() + "\n").encode()


def _choose_hypothesis(plan: Plan, wanted: str | None) -> Hypothesis:
    """Return the hypothesis that is asked for, or the plan's only one."""
    known = list(plan.hypotheses or ())
    if wanted is None and len(known) == 1:
        return known[0]
    for hypothesis in known:
        if hypothesis.id == wanted:
            return hypothesis
    ids = ", ".join(hypothesis.id for hypothesis in known)
    message = "a PRML manifest is of one hypothesis" if wanted is None else "the plan has no such hypothesis"
    raise InvalidData.field("query.hypothesis", message, f"name one of: {ids}")


def _name_comparator(hypothesis: Hypothesis) -> dict[str, str]:
    """Return the arm, or the number, that the candidate is held against."""
    if hypothesis.baseline is not None:
        return {"baseline": _portable(hypothesis.baseline)}
    reference = hypothesis.reference
    return {} if reference is None else {"reference": _portable(f"{reference.value:.12g} {reference.unit}")}


def _make_manifest(
    version: LockedPlan, *, record: str, created_at: datetime, hypothesis: str, producer: str
) -> dict[str, Any]:
    """Make the PRML manifest of a locked hypothesis; Conflict where it has no single data set with a hash."""
    claimed = _choose_hypothesis(version.plan, hypothesis)
    population = version.plan.population(claimed.population)
    if population is None:
        raise Conflict("a PRML manifest names one data set, and this hypothesis speaks of a suite of several")
    if population.items_sha256 is None:
        raise Conflict("the population has no manifest of items: a PRML manifest needs its hash")
    return {
        "version": VERSION,
        "claim_id": _uuid7(created_at, f"{record}\n{hypothesis}"),
        "created_at": version.locked_at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "metric": METRIC,
        "metric_args": {
            **_name_comparator(claimed),
            "candidate": _portable(claimed.candidate),
            "endpoint": _portable(claimed.endpoint),
            "hypothesis": _portable(hypothesis),
            "plan_sha256": version.sha256,
            "preregistration": record,
            "rule": _portable(claimed.rule or ""),
        },
        "comparator": "==",
        "threshold": 1.0,
        "dataset": {"id": _portable(population.dataset), "hash": population.items_sha256},
        "seed": population.order_seed or 0,
        "producer": {"id": _portable(producer)},
    }


def _uuid7(moment: datetime, of: str) -> str:
    """A UUID of version 7 with the time of `moment`, and what is random elsewhere taken from a hash: it stays."""
    digest = hashlib.sha256(of.encode()).digest()
    time = int(moment.timestamp() * 1000).to_bytes(6, "big")
    rest = bytearray(digest[:10])
    rest[0] = 0x70 | rest[0] & 0x0F
    rest[2] = 0x80 | rest[2] & 0x3F
    text = (time + bytes(rest)).hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def _portable(text: str) -> str:
    """Text without the characters that PRML refuses (section 3.4): each of them becomes a space."""
    printable = "".join(" " if _is_refused(character) else character for character in text)
    return unicodedata.normalize("NFC", printable)


def _is_refused(character: str) -> bool:
    return unicodedata.category(character) == "Cc" or character in "\u2028\u2029\ufeff"
