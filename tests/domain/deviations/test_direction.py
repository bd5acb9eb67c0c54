"""Every kind of change against every claim, written out once more by hand."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, get_args

import pytest
from pydantic import TypeAdapter

from service.domain.deviations.changes import Change
from service.domain.deviations.direction import (
    MATRIX,
    REPORTED,
    Effect,
    directions,
    effects,
    measure_direction,
)
from tests.domain import sample

CHANGE: TypeAdapter[Any] = TypeAdapter(Change)
WORDS = {"C": "conservative", "A": "aggressive", "N": "neutral", "U": "unknown"}
N, IDS, CLUSTERS = (
    {"kind": "n", "population": "one"},
    {"kind": "exclude_items", "population": "one", "item_ids": ["item 1"]},
    {"kind": "exclude_clusters", "population": "one", "clusters": ["c1"]},
)
TAU = {"kind": "threshold", "name": "tau", "value": 0.47}
RULE = {"kind": "rule", "hypothesis": "H1"}
SESOI = {"kind": "sesoi", "endpoint": "accuracy"}
H = {"kind": "hypothesis", "hypothesis": "H1"}

CELLS = {
    # change, and what it is for superiority, non-inferiority, equivalence, minimum effect, null
    "fewer, favouring the candidate": (N | {"n": 400, "dropped_favour": "candidate"}, "CCUCA"),
    "fewer, favouring the baseline": (N | {"n": 400, "dropped_favour": "baseline"}, "AAUAA"),
    "fewer, favouring neither": (N | {"n": 400, "dropped_favour": "neither"}, "CCCCA"),
    "fewer, nobody knows": (N | {"n": 400}, "UUUUA"),
    "more": (N | {"n": 600}, "NNNNC"),
    "items out, favouring the candidate": (IDS | {"dropped_favour": "candidate"}, "CCUCA"),
    "items out, favouring the baseline": (IDS | {"dropped_favour": "baseline"}, "AAUAA"),
    "items out, favouring neither": (IDS | {"dropped_favour": "neither"}, "CCCCA"),
    "items out, nobody knows": (IDS, "UUUUA"),
    "clusters out, favouring the candidate": (CLUSTERS | {"dropped_favour": "candidate"}, "CCUCA"),
    "clusters out, favouring the baseline": (CLUSTERS | {"dropped_favour": "baseline"}, "AAUAA"),
    "clusters out, favouring neither": (CLUSTERS | {"dropped_favour": "neither"}, "CCCCA"),
    "clusters out, nobody knows": (CLUSTERS, "UUUUA"),
    "disputed": ({"kind": "disputed_items", "population": "one", "item_ids": ["item 1"]}, "UUUUU"),
    "missing counted against": ({"kind": "missing_policy", "missing": "worst_case"}, "CCCCA"),
    "missing fails": ({"kind": "missing_policy", "missing": "fail"}, "CCCCC"),
    "threshold from a split apart": (TAU | {"chosen_on": "separate_split"}, "NNNNN"),
    "threshold from the evaluation": (TAU | {"chosen_on": "evaluation_items"}, "AAAAA"),
    "endpoint": ({"kind": "endpoint", "hypothesis": "H1", "endpoint": "f1"}, "UUUUU"),
    "arm removed": ({"kind": "arm_removed", "arm": "C2"}, "AAAAA"),
    "hypothesis split": (H | {"how": "split"}, "AAAAC"),
    "hypothesis added": (H | {"how": "added"}, "AAAAC"),
    "hypothesis dropped": (H | {"how": "dropped"}, "AAAAA"),
    "hypothesis reshaped": (H | {"how": "reshaped"}, "UUUUU"),
    "rule with a clause more": (
        RULE | {"rule": f"{sample.VALUE['hypotheses'][0]['rule']} and m.n >= 9"},
        "CCCCA",
    ),
    "rule with a clause less": (RULE | {"rule": "delta >= 2.0 pp and m.p_value < 0.05"}, "AAAAC"),
    "another rule": (RULE | {"rule": "delta >= 1.0 pp and m.p_value < 0.05"}, "UUUUU"),
    "wider margin": (SESOI | {"margin": {"value": 0.03, "unit": "proportion"}}, "NAACA"),
    "narrower margin": (SESOI | {"margin": {"value": 1, "unit": "pp"}}, "NCCAC"),
    "test": ({"kind": "test", "test": "m"}, "UUUUU"),
    "corrected": ({"kind": "multiplicity", "policy": "holm"}, "CCCCA"),
    "stopping": ({"kind": "stopping"}, "AAAAC"),
    "judge": ({"kind": "judge", "endpoint": "accuracy"}, "UUUUU"),
    "other": ({"kind": "other"}, "UUUUU"),
}
KINDS = {get_args(each.model_fields["kind"].annotation)[0] for each in get_args(get_args(Change)[0])}


def of(change: dict[str, Any], plan: dict[str, Any] | None = None) -> dict[str, str]:
    return directions(effects(CHANGE.validate_python(change | _tuples(change)), sample.plan(plan)))


def _tuples(change: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) for name, value in change.items() if isinstance(value, list)}


def of_all(row):
    """A row with the claim about one arm, which a change pushes as it does superiority, before `null`."""
    return f"{row[:4]}{row[0]}{row[4:]}"


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("claim", REPORTED)
def test_every_change_has_its_direction_for_every_claim(cell, claim):
    change, row = CELLS[cell]
    assert of(change)[claim] == WORDS[of_all(row)[REPORTED.index(claim)]]


def test_no_kind_of_change_is_left_out_of_the_matrix():
    assert {change["kind"] for change, _ in CELLS.values()} == KINDS


def test_every_effect_stands_against_every_claim():
    assert set(MATRIX) == set(get_args(Effect))
    assert all(tuple(row) == REPORTED for row in MATRIX.values())


@pytest.mark.parametrize(
    ("planned", "actual", "row"),
    [
        ("fail", "exclude_pair", "AAAAA"),
        ("fail", "worst_case", "AAAAA"),
        ("worst_case", "exclude_pair", "AAAAC"),
        ("worst_case", "fail", "CCCCC"),
        ("exclude_pair", "worst_case", "CCCCA"),
        ("exclude_pair", "fail", "CCCCC"),
    ],
)
def test_missing_policies_against_one_another(planned, actual, row):
    found = of({"kind": "missing_policy", "missing": actual}, {"missing": planned})
    assert [found[claim] for claim in REPORTED] == [WORDS[letter] for letter in of_all(row)]


@pytest.mark.parametrize(
    ("planned", "actual", "row"),
    [("none", "holm", "CCCCA"), ("holm", "none", "AAAAC"), ("holm", "bonferroni", "UUUUU")],
)
def test_corrections_against_one_another(planned, actual, row):
    plan = {"multiplicity": {"policy": planned, "family": ["H1"]}}
    found = of({"kind": "multiplicity", "policy": actual}, plan)
    assert [found[claim] for claim in REPORTED] == [WORDS[letter] for letter in of_all(row)]


def test_the_worst_of_several_effects_is_the_direction():
    assert directions(["lower_delta", "higher_delta"])["superiority"] == "aggressive"
    assert directions(["fewer_items", "unknown_delta"])["superiority"] == "unknown"
    assert directions(["more_items", "fewer_items"])["superiority"] == "conservative"
    assert directions([])["superiority"] == "neutral"


@pytest.mark.parametrize(
    ("before", "after", "row"),
    [
        ("1/10", "1/20", "CCACA"),
        ("1/10", "1/5", "AACAA"),
        ("1/10", "-1/5", "CCCCA"),
        ("-1/10", "-1/20", "AAAAA"),
        ("1/10", "1/10", "CCCCA"),
    ],
)
def test_rows_show_which_way_leaving_items_out_went(before, after, row):
    found = measure_direction(Fraction(before), Fraction(after))
    assert [found[claim] for claim in REPORTED] == [WORDS[letter] for letter in of_all(row)]


def test_a_difference_that_is_gone_is_unknown():
    assert measure_direction(Fraction(1, 10), None)["superiority"] == "unknown"
