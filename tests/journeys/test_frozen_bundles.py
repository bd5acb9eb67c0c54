"""Bundles that earlier versions made are verified, and judged again, by this one."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from forelock.bundles.verifying import Kept, Opened, Recomputed, exit_status, verify
from service.offline.recomputing import _judged, recompute
from service.stats.shared.declaring.registry import library_versions

FROZEN = sorted((Path(__file__).parent / "frozen").glob("*.zip"))


@pytest.mark.parametrize("bundle", FROZEN, ids=[each.stem for each in FROZEN])
def test_a_bundle_of_an_earlier_version_holds(bundle: Path) -> None:
    note = bundle.with_suffix(".checkpoint").read_bytes()
    with bundle.open("rb") as file:
        alone = verify(file, kept=[Kept("kept", note)])
        assert [each.sentence for each in alone.checks if each.state in ("fail", "differs")] == []
        assert exit_status(alone) == 12
        report = verify(file, kept=[Kept("kept", note)], recompute=recompute)
    assert report.verdict is not None
    here = report.verdict["versions"] == library_versions()
    assert exit_status(report) == 12 or (not here and exit_status(report) == 5), report.checks


def test_there_is_one_of_every_version() -> None:
    """`before-claims` is of the last commit before claims about one arm, suites, cards and labels could be planned."""
    assert [each.stem for each in FROZEN] == ["before-claims", "version-1"]


def without_numbers(said: dict[str, Any]) -> None:
    said["hypotheses"] = [{name: each[name] for name in ("id", "outcome")} for each in said["hypotheses"]]


def without_an_answer(said: dict[str, Any]) -> None:
    del said["hypotheses"][0]["analyses"]["flip"]


def without_counts(said: dict[str, Any]) -> None:
    said["primary_outcomes"] = {}


def as_if_drawn(said: dict[str, Any]) -> None:
    """Another p-value of an exact test, said to come from a seed."""
    answer = said["hypotheses"][0]["analyses"]["flip"]
    answer["provenance"] |= {"exact": False, "seed": 1}
    answer["analysis"]["p_value"] = 1e-9


def opposite(said: dict[str, Any]) -> None:
    """Another outcome, with clauses that fit it."""
    for each in said["hypotheses"]:
        each["outcome"], each["rule_holds"] = "supported", True
        for clause in each["clauses"]:
            clause["holds"] = True


def another_outcome(said: dict[str, Any]) -> None:
    said["hypotheses"][0]["outcome"] = "not_supported"


def another_truth(said: dict[str, Any]) -> None:
    said["hypotheses"][0]["clauses"][1]["holds"] = False


def more_items(said: dict[str, Any]) -> None:
    said["hypotheses"][0]["n"] += 1


def other_counts(said: dict[str, Any]) -> None:
    said["hypotheses"][0]["analyses"]["flip"]["analysis"]["counts"]["only_baseline"] = 1


def another_delta(said: dict[str, Any]) -> None:
    said["hypotheses"][0]["delta"] += 1e-6


def a_delta_of_a_test(said: dict[str, Any]) -> None:
    said["hypotheses"][0]["analyses"]["flip"]["analysis"]["estimates"]["item_weighted"] += 1e-3


def a_small_p(said: dict[str, Any]) -> None:
    """In every place where it stands, so that it agrees with itself."""
    flip = said["hypotheses"][0]
    flip["analyses"]["flip"]["analysis"]["p_value"] = 1e-9
    flip["clauses"][1]["observed"] = 1e-9
    flip["family"] |= {"adjusted": 1e-9, "holm": 1e-9, "p_value": 1e-9}


def a_large_p(said: dict[str, Any]) -> None:
    said["hypotheses"][0]["analyses"]["flip"]["analysis"]["p_value"] = 0.04


def another_interval(said: dict[str, Any]) -> None:
    said["hypotheses"][0]["analyses"]["flip"]["analysis"]["ci"]["low"] = 0.2


def without_a_p(said: dict[str, Any]) -> None:
    said["hypotheses"][0]["analyses"]["flip"]["analysis"]["p_value"] = None


def of_one_outcome(said: dict[str, Any]) -> None:
    said["primary_outcomes"] = {"supported": 3}


FORGED = [
    without_numbers, without_an_answer, without_counts, as_if_drawn, opposite, another_outcome,
    another_truth, more_items, other_counts, another_delta, a_delta_of_a_test, a_small_p, a_large_p,
    another_interval, without_a_p, of_one_outcome,
]  # fmt: skip
CLAIMED = {
    "same": {},
    "numpy": {"numpy": "1.0.0"},
    "machine": {"machine": "riscv64", "python": "3.99.0"},
    "release": {"forelock-server": "0.1.0"},
    "later": {"forelock-server": "99.0.0", "numpy": "99.0.0", "scipy": "99.0.0"},
}


@pytest.fixture(scope="module")
def opened() -> Opened:
    kept: list[Opened] = []

    def keep(each: Opened) -> Recomputed:
        kept.append(each)
        return Recomputed(True, False, "kept")

    with FROZEN[-1].open("rb") as file:
        verify(file, recompute=keep)
        found = kept[0]
        plain = recompute(found)
        rows = list(found.batches())
    assert plain.explained
    return replace(found, batches=lambda: iter(rows))


def judged_here(opened: Opened) -> dict[str, Any]:
    """The verdict that this version gives the rows."""
    return json.loads(_judged(opened, json.loads(opened.verdict)))


@pytest.mark.parametrize("claimed", CLAIMED)
@pytest.mark.parametrize("change", FORGED)
def test_no_version_excuses_what_a_verdict_says_otherwise_than_its_rows(
    opened: Opened, change: Callable[[dict[str, Any]], None], claimed: str
) -> None:
    """Whoever holds the signing key can sign such a verdict, and name the versions that suit it: its rows show it."""
    said = judged_here(opened)
    said["versions"] = library_versions() | CLAIMED[claimed]
    change(said)
    found = recompute(replace(opened, verdict=json.dumps(said).encode()))
    assert (found.same, found.explained) == (False, False)
    assert "recorded" in found.sentence


@pytest.mark.parametrize("versions", [None, {}, [], {"numpy": 3}, "numpy"])
def test_a_verdict_without_versions_has_no_excuse(opened: Opened, versions: Any) -> None:
    said = judged_here(opened) | {"versions": versions}
    analysis = said["hypotheses"][0]["analyses"]["flip"]["analysis"]
    assert recompute(replace(opened, verdict=json.dumps(said).encode())).same
    analysis["ci"]["low"] *= 1 + 1e-7
    found = recompute(replace(opened, verdict=json.dumps(said).encode()))
    assert (found.same, found.explained) == (False, False)


@pytest.mark.parametrize(("claimed", "explained"), [("same", False), ("numpy", True), ("release", True)])
def test_another_library_may_be_off_by_a_millionth_and_is_told(
    opened: Opened, claimed: str, explained: bool
) -> None:
    said = judged_here(opened)
    said["versions"] = library_versions() | CLAIMED[claimed]
    said["hypotheses"][0]["analyses"]["flip"]["analysis"]["ci"]["low"] *= 1 + 1e-7
    found = recompute(replace(opened, verdict=json.dumps(said).encode()))
    assert (found.same, found.explained) == (False, explained)
    (told,) = found.differing
    assert "analyses.flip.analysis.ci.low: recorded 0.3126" in told
    assert told.split(": ", 1)[1] in found.sentence


@pytest.mark.parametrize(("claimed", "explained"), [("same", False), ("release", False), ("later", True)])
def test_a_plan_that_cannot_be_judged_here_is_excused_by_a_later_release_alone(
    opened: Opened, claimed: str, explained: bool
) -> None:
    said = judged_here(opened)
    said["versions"] = library_versions() | CLAIMED[claimed]
    plan = opened.plan.replace(b'"clustered-mcnemar"', b'"a-test-of-tomorrow"')
    assert plan != opened.plan
    found = recompute(replace(opened, plan=plan, verdict=json.dumps(said).encode()))
    assert (found.same, found.explained) == (False, explained)
    assert "cannot be computed here" in found.sentence
