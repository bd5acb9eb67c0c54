"""Judging again: the verdict of a bundle computed from its rows, and compared with what was recorded.

No database and no network: `forelock verify` finds this where the server package is installed. Outcomes and the truth
of clauses have to be the same, and numbers to a billionth, or within the bounds of `differences` where versions or
chance explain it. Words may differ between versions, and are not compared.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, get_args

import numpy as np
from pydantic import ValidationError

from forelock.bundles.faults import Broken
from forelock.bundles.rows import OpenBatch
from forelock.bundles.verifying import Opened, Recomputed
from service.domain.plans.manifest import Manifest
from service.domain.plans.plan import Plan
from service.domain.results.batches import BatchHead, PlacedBatch
from service.domain.results.secret_rows import SecretRows
from service.domain.rules.settings import resolve
from service.domain.verdicts.judge import Inputs, judge
from service.domain.verdicts.outcomes import Outcomes, Rows
from service.domain.verdicts.records import VoidedBatch
from service.domain.verdicts.validity import Code, Mark
from service.errors import ForelockError
from service.offline.differences import Excuse, compare
from service.offline.memory import at_most
from service.stats.shared.declaring import registry
from service.stats.shared.declaring.registry import library_versions

SHOWN = 12
MOST_BYTES = 3 * 2**30
"""More than the largest plan that a bundle may hold takes: 20,000,000 results at about 100 bytes."""
SERVER = "forelock-server"
_CODES = frozenset(get_args(Code))


def recompute(opened: Opened) -> Recomputed:
    """Judge a bundle's rows by its plan, and compare.

    Raises:
        Broken: plan, items or rows are not what this version can judge at all.
    """
    recorded = json.loads(opened.verdict)
    here, there = library_versions(), _versions(recorded.get("versions"))
    other = sorted(name for name in {*here, *there} if here.get(name) != there.get(name)) if there else []
    try:
        with at_most(MOST_BYTES):
            judged = json.loads(_judged(opened, recorded))
    except MemoryError:
        return Recomputed(
            False, False, f"it cannot be computed here: it takes more than {MOST_BYTES >> 20} MiB"
        )
    except Broken:
        raise
    except (ForelockError, ValidationError, KeyError, ValueError, IndexError, TypeError) as error:
        why = error.detail if isinstance(error, ForelockError) else f"a {type(error).__name__} came of it"
        newer = _is_newer(there.get(SERVER, ""), here[SERVER])
        return Recomputed(False, newer, f"it cannot be computed here: {why}{_explained(other, there)}")
    excuse = Excuse(libraries=bool(set(other) - {SERVER}), release=SERVER in other)
    differing = compare(recorded, judged, excuse)
    if not differing:
        return Recomputed(
            True, False, "judged again from the rows: outcomes and clauses are the same, numbers to 1e-9"
        )
    unexplained = [difference for difference in differing if difference.bound is None]
    places = [str(difference) for difference in (unexplained or differing)]
    more = f"; and {len(places) - SHOWN} more" if len(places) > SHOWN else ""
    what = (
        "the rows give another verdict"
        if unexplained
        else "judged again from the rows outcomes, clauses, counts and differences are the same, these numbers are not"
    )
    return Recomputed(
        False,
        not unexplained,
        f"{what}: {'; '.join(places[:SHOWN])}{more}{_explained(other, there)}",
        tuple(str(difference) for difference in differing),
    )


def _versions(recorded: Any) -> dict[str, str]:
    """Return what a verdict says that computed it; nothing where that is not said as it has to be."""
    whole = isinstance(recorded, dict) and all(isinstance(version, str) for version in recorded.values())
    return dict(recorded) if whole else {}


def _is_newer(there: str, here: str) -> bool:
    """Tell whether a plan may ask for something that was not there yet when this package was made."""

    def release(version: str) -> list[int]:
        return [int(number) for number in re.findall(r"\d+", version.split(".dev")[0])[:3]]

    return release(there) > release(here)


def _explained(other: list[str], there: Mapping[str, str]) -> str:
    if not other:
        return ""
    way = (
        f"; {SERVER}=={there[SERVER]} judges it again as it was"
        if SERVER in other and SERVER in there
        else ""
    )
    return f". It was judged with another {', '.join(other)}{way}"


def _judged(opened: Opened, recorded: Mapping[str, Any]) -> str:
    """Judge an opened bundle's rows again, and return the verdict as JSON; an unknown test is refused."""
    plan = Plan.model_validate_json(opened.plan)
    for test in plan.tests or ():
        registry.find(test.test, test.version)  # one that is not known here would be judged as undefined
    manifests = {name: _manifest(text) for name, text in opened.manifests.items()}
    outcomes = Outcomes.empty(plan, closed=opened.closed)
    for batch in opened.batches():
        outcomes.place(_place_rows(batch))
    marks, begun_with = _begun_with(recorded)
    inputs = Inputs(rows=Rows(resolve(plan), manifests, outcomes, marks), **begun_with)
    return judge(inputs).model_dump_json()


def _begun_with(recorded: Mapping[str, Any]) -> tuple[tuple[Mark, ...], dict[str, Any]]:
    """Return what judging takes from the verdict itself: its marks, and fields of `Inputs`.

    Raises:
        Broken: it is no verdict's. No release explains that: else whoever alters an outcome would spoil its date too.
    """
    try:
        # what the log says of them was compared before; times and runs are on record in the verdict alone
        marks = tuple(_mark(mark) for mark in recorded.get("marks") or ())
        return marks, {
            "preregistration_id": recorded["preregistration_id"],
            "plan_sha256": recorded["plan_sha256"],
            "voided": tuple(VoidedBatch.model_validate(struck) for struck in recorded["voided_batches"]),
            "judged_at": datetime.fromisoformat(recorded["judged_at"]),
        }
    except (ValidationError, KeyError, ValueError, TypeError, AttributeError):
        raise Broken(
            "the verdict does not say as a verdict does when it was judged, what was struck and what stands against it"
        ) from None


def _mark(stated: Mapping[str, Any]) -> Mark:
    """Return a mark; one of a kind that only a later release knows bears on outcomes by its effect as any other."""
    known = {name: stated[name] for name in Mark.model_fields if name in stated}
    if isinstance(known.get("code"), str) and known["code"] not in _CODES:
        known["code"] = "arm_named"
    return Mark.model_validate(known)


def _manifest(text: bytes) -> Manifest:
    document = json.loads(text)
    if not isinstance(document, dict):
        raise Broken("a list of items is not one")
    return Manifest.create(
        document["item_ids"], document.get("clusters"), document.get("strata"), document.get("content_sha256")
    )


def _place_rows(batch: OpenBatch) -> PlacedBatch:
    """Make a batch of a bundle's bytes as the judge takes it."""
    facts = batch.facts
    return PlacedBatch(
        BatchHead(facts.population, facts.arm, facts.endpoint, facts.run),
        positions=np.asarray(batch.positions, dtype=np.int32),
        replicates=np.asarray(batch.replicates, dtype=np.uint16),
        rows=SecretRows(
            np.frombuffer(batch.values, "<f8").astype(np.float64), np.frombuffer(batch.statuses, "u1")
        ),
    )
