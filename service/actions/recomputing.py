"""Judging again: the verdict of a bundle computed from its rows, and compared with what was recorded.

No database and no network: `forelock verify` finds this where the server package is installed. Outcomes and the truth
of clauses have to be the same, and numbers to a billionth. Words may differ between versions, and are not compared.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import numpy as np
from pydantic import ValidationError

from forelock.bundles.faults import Broken
from forelock.bundles.rows import OpenBatch
from forelock.bundles.verifying import Opened, Recomputed
from service.actions.verdicts import Inputs, compute
from service.domain.plans.plan import Plan
from service.domain.plans.population import Manifest
from service.domain.results.batches import PlacedBatch
from service.domain.verdicts.outcomes import Outcomes
from service.domain.verdicts.records import VoidedBatch
from service.domain.verdicts.validity import Mark
from service.errors import ForelockError
from service.stats.shared.registry import library_versions

TOLERANCE = 1e-9
"""Of numbers, absolutely or relatively."""
WORDS = frozenset(
    {"sentence", "reason", "multiplicity", "text", "message", "warnings", "reading_of", "reference"}
)
"""Members that hold words: another version may say the same otherwise."""
UNCOMPARED = frozenset({"versions", "provenance", "title", "statement", "voided_batches"})
ALWAYS = frozenset({"outcome", "rule_holds", "clauses", "delta", "n", "analyses"})
"""What a verdict of any version says of a hypothesis: left out, nothing would be compared."""
KEYED = ("analyses", "primary_outcomes")
"""Members whose names are ids and outcomes, and not fields that a later version may add."""
SHOWN = 3


def recompute(opened: Opened) -> Recomputed:
    """Judge a bundle's rows by its plan, and compare.

    Raises:
        Broken: plan, items or rows are not what this version can judge at all.
    """
    recorded = json.loads(opened.verdict)
    here, there = library_versions(), recorded.get("versions")
    other = sorted(
        name
        for name in {*here, *(there if isinstance(there, dict) else ())}
        if not isinstance(there, dict) or here.get(name) != there.get(name)
    )
    try:
        found = json.loads(_judged(opened, recorded))
    except (ForelockError, ValidationError, KeyError, ValueError, IndexError, TypeError) as error:
        why = error.detail if isinstance(error, ForelockError) else f"a {type(error).__name__} came of it"
        return Recomputed(False, bool(other), f"it cannot be computed here: {why}{_explained(other)}")
    differing = list(_differences(recorded.get("hypotheses"), found.get("hypotheses"), "", drawn=False))
    for name in ("primary_outcomes", "stopped", "plan_sha256", "preregistration_id"):
        differing += _differences(recorded.get(name), found.get(name), name, drawn=False)
    if not differing:
        return Recomputed(
            True, False, "judged again from the rows: outcomes and clauses are the same, numbers to 1e-9"
        )
    places = ", ".join(place for place, _ in differing[:SHOWN])
    more = f" and {len(differing) - SHOWN} more" if len(differing) > SHOWN else ""
    explained = bool(other) or all(drawn for _, drawn in differing)
    return Recomputed(
        False, explained, f"judged again from the rows, these differ: {places}{more}{_explained(other)}"
    )


def _explained(other: list[str]) -> str:
    return f"; it was judged with another {', '.join(other)}" if other else ""


def _judged(opened: Opened, recorded: Mapping[str, Any]) -> str:
    plan = Plan.model_validate_json(opened.plan)
    manifests = {name: _manifest(text) for name, text in opened.manifests.items()}
    outcomes = Outcomes.empty(plan, closed=opened.closed)
    for batch in opened.batches():
        outcomes.place(_placed(batch))
    voided = tuple(VoidedBatch.model_validate(each) for each in recorded["voided_batches"])
    inputs = Inputs(
        preregistration_id=recorded["preregistration_id"],
        plan_sha256=recorded["plan_sha256"],
        plan=plan,
        manifests=manifests,
        outcomes=outcomes,
        voided=voided,
        judged_at=datetime.fromisoformat(recorded["judged_at"]),
        # what the log says of them was compared before; times and runs are on record in the verdict alone
        marks=tuple(Mark.model_validate(each) for each in recorded.get("marks") or ()),
    )
    return compute(inputs).model_dump_json()


def _manifest(text: bytes) -> Manifest:
    said = json.loads(text)
    if not isinstance(said, dict):
        raise Broken("a list of items is not one")
    return Manifest.create(said["item_ids"], said.get("clusters"), said.get("strata"))


def _placed(batch: OpenBatch) -> PlacedBatch:
    return PlacedBatch(
        population=batch.facts.population,
        arm=batch.facts.arm,
        endpoint=batch.facts.endpoint,
        run=batch.facts.run,
        positions=np.asarray(batch.positions, dtype=np.int32),
        replicates=np.asarray(batch.replicates, dtype=np.uint16),
        values=np.frombuffer(batch.values, "<f8").astype(np.float64),
        statuses=np.frombuffer(batch.statuses, "u1"),
        observed_at=None,
    )


def _differences(recorded: Any, found: Any, place: str, *, drawn: bool) -> Iterator[tuple[str, bool]]:
    """Where two values differ, and whether what stands there was drawn by chance from a seed."""
    if isinstance(recorded, dict) and isinstance(found, dict):
        drawn = drawn or (_is_drawn(recorded) and _is_drawn(found))
        of_ids = place.rpartition(".")[2] in KEYED
        of_hypothesis = "outcome" in found and "analyses" in found
        for name in sorted(found.keys() - recorded.keys()):
            if of_ids or (of_hypothesis and name in ALWAYS):
                yield f"{place}.{name}", False
        for name, value in recorded.items():  # members that only a later version has are not compared
            if name not in WORDS and name not in UNCOMPARED:
                where = f"{place}.{name}" if place else str(name)
                yield from _differences(value, found.get(name), where, drawn=drawn)
    elif isinstance(recorded, list) and isinstance(found, list) and len(recorded) == len(found):
        for position, (one, other) in enumerate(zip(recorded, found, strict=True)):
            named = one.get("id") if isinstance(one, dict) else None
            yield from _differences(one, other, f"{place}[{named or position}]".lstrip("."), drawn=drawn)
    elif not _same(recorded, found):
        yield place, drawn and _is_number(recorded) and _is_number(found)


def _is_drawn(recorded: Mapping[str, Any]) -> bool:
    """Whether a hypothesis rests on an answer that was drawn from a seed."""
    answers = recorded.get("analyses")
    told = (
        [each.get("provenance") for each in answers.values() if isinstance(each, dict)]
        if isinstance(answers, dict)
        else []
    )
    return any(isinstance(each, dict) and each.get("seed") is not None for each in told)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _same(recorded: Any, found: Any) -> bool:
    if _is_number(recorded) and _is_number(found):
        return math.isclose(recorded, found, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return type(recorded) is type(found) and recorded == found
