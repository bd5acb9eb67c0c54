"""Placing batches in a plan."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from service.domain.plans.manifest import Manifest
from service.domain.plans.plan import Plan
from service.domain.results import batches
from service.domain.results.batches import (
    ExpectedCell,
    ReceivedBatch,
    expected_cells,
    fingerprint_parts,
    place_batch,
)
from service.domain.results.secret_rows import SecretRows
from service.errors import InvalidData

PATIENT = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


def hypothesis(name, population, baseline, candidate, endpoint="accuracy"):
    return {
        "id": name,
        "claim": "superiority",
        "statement": "better",
        "population": population,
        "baseline": baseline,
        "candidate": candidate,
        "endpoint": endpoint,
        "rule": "delta > 0",
    }


PLAN = Plan.from_dict(
    {
        "populations": [{"id": "one", "dataset": "D1", "n": 4}, {"id": "two", "dataset": "D2", "n": 3}],
        "hypotheses": [
            hypothesis("H1", "one", "C1", "C2"),
            hypothesis("H2", "one", "C1", "C3"),
            hypothesis("H3", "two", "C4", "C1"),
        ],
        "endpoints": [
            {"id": "accuracy", "kind": "binary", "role": "primary"},
            {"id": "f1", "kind": "continuous", "role": "secondary", "populations": ["one"], "replicates": 3},
            {"id": "tokens", "kind": "counts", "role": "secondary", "populations": ["two"]},
        ],
    }
)
MANIFESTS = {"one": Manifest.create(["a", "b", "c", "é"]), "two": Manifest.create(["a", "x", "y"])}


def batch(ids=("a", "b"), values=(1, 0), statuses=None, replicates=None, **names):
    named = {"population": "one", "arm": "C1", "endpoint": "accuracy", "run": None, **names}
    return ReceivedBatch(
        **named,
        item_ids=tuple(ids),
        replicates=np.array(replicates or [1] * len(ids), dtype=np.uint16),
        rows=SecretRows(
            np.array(values, dtype=np.float64), np.array(statuses or [0] * len(ids), dtype=np.uint8)
        ),
    )


def placed(posted):
    return place_batch(posted, PLAN, MANIFESTS)


def refused(posted):
    with pytest.raises(InvalidData) as caught:
        placed(posted)
    return caught.value


def test_rows_are_placed_by_item_id():
    result = placed(batch(ids=("é", "a"), values=(1, 0)))
    assert result.positions.tolist() == [3, 0]
    assert result.positions.dtype == np.int32
    assert result.rows.values.tolist() == [1, 0]
    assert result.n == 2


def test_replicates_of_an_item_are_different_cells():
    result = placed(batch(ids=("a", "b", "a"), values=(0.1, 0.2, 0.3), replicates=[1, 1, 3], endpoint="f1"))
    assert {r: positions.tolist() for r, positions in result.parts} == {1: [0, 1], 3: [0]}


@pytest.mark.parametrize(
    ("name", "value", "known"),
    [
        ("population", "three", "one, two"),
        ("arm", "C4", "C1, C2, C3"),
        ("endpoint", "tokens", "accuracy, f1"),
        ("endpoint", "recall", "accuracy, f1"),
    ],
)
def test_names_outside_the_plan_are_refused(name, value, known):
    error = refused(batch(**{name: value}))
    assert error.faults[0].path == name
    assert error.faults[0].fix.endswith(known)


def test_arms_and_endpoints_belong_to_their_population():
    assert placed(batch(ids=("a", "x"), population="two", arm="C4")).head.population == "two"
    assert refused(batch(ids=("a", "x"), population="two", arm="C2")).faults[0].path == "arm"
    assert refused(batch(ids=("a", "x"), population="two", endpoint="f1")).faults[0].path == "endpoint"


def test_the_population_may_be_left_out_when_there_is_one():
    document = PLAN.as_dict()
    alone = Plan.from_dict({**document, "populations": document["populations"][:1]})
    assert place_batch(batch(population=None), alone, MANIFESTS).head.population == "one"
    assert refused(batch(population=None)).faults[0].path == "population"


def test_counts_endpoints_take_no_single_values():
    error = refused(batch(ids=("a", "x"), population="two", arm="C4", endpoint="tokens"))
    assert "counts" in error.detail


def test_unknown_items_are_listed():
    error = refused(batch(ids=("a", "z", "x"), values=(1, 1, 0)))
    assert error.detail == "2 ids are not items of population 'one': 'z', 'x'"
    assert [fault.message for fault in error.faults] == [
        "row 2 is not in the manifest",
        "row 3 is not in the manifest",
    ]
    many = refused(batch(ids=[f"z{i}" for i in range(30)], values=[0] * 30))
    assert many.detail.endswith("'z19' and 10 more")
    assert len(many.faults) == 20


def test_items_twice_in_a_batch_are_refused():
    error = refused(batch(ids=("b", "a", "b", "a", "b"), values=(1, 0, 1, 1, 0)))
    assert error.detail == "3 ids come a second time in this batch: 'b', 'a', 'b'"
    assert [fault.message for fault in error.faults] == [
        f"row {row} repeats an earlier row" for row in (3, 4, 5)
    ]


def test_replicates_beyond_the_plan_are_refused():
    assert placed(batch(endpoint="f1", replicates=[1, 3])).n == 2
    error = refused(batch(endpoint="f1", replicates=[3, 4]))
    assert (error.faults[0].path, error.faults[0].message) == (
        "replicate",
        "row 2 is above the 3 that the plan has",
    )


def test_binary_endpoints_take_0_and_1():
    assert placed(batch(values=(np.nan, 0), statuses=[2, 0])).n == 2
    error = refused(batch(values=(1, 0.5)))
    assert (error.faults[0].path, error.faults[0].message) == (
        "value",
        "row 2 is neither 0 nor 1, and the endpoint is binary",
    )
    assert "0.5" not in f"{error.detail}{error.faults}"


def test_every_arm_needs_every_endpoint_of_its_population():
    assert expected_cells(PLAN) == (
        ExpectedCell("one", "C1", "accuracy", 1, 4),
        ExpectedCell("one", "C1", "f1", 3, 4),
        ExpectedCell("one", "C2", "accuracy", 1, 4),
        ExpectedCell("one", "C2", "f1", 3, 4),
        ExpectedCell("one", "C3", "accuracy", 1, 4),
        ExpectedCell("one", "C3", "f1", 3, 4),
        ExpectedCell("two", "C4", "accuracy", 1, 3),
        ExpectedCell("two", "C4", "tokens", 1, 3),
        ExpectedCell("two", "C1", "accuracy", 1, 3),
        ExpectedCell("two", "C1", "tokens", 1, 3),
    )
    assert sum(cell.size for cell in expected_cells(PLAN)) == 60
    assert expected_cells(Plan()) == ()


def test_the_fingerprint_leaves_outcomes_out():
    first = fingerprint_parts(batch(values=(1, 0)))
    assert first == fingerprint_parts(batch(values=(0, np.nan), statuses=[0, 1]))
    assert b"accuracy" in first


NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4)
PARTS = st.fixed_dictionaries(
    {
        "population": st.none() | NAMES,
        "arm": NAMES,
        "endpoint": NAMES,
        "run": st.none() | NAMES,
        "ids": st.lists(NAMES, max_size=3),
        "replicates": st.integers(1, 300),
    }
)


@PATIENT
@given(PARTS, PARTS)
def test_the_fingerprint_tells_posts_apart(one, other):
    def printed(parts):
        rows = {"values": [0] * len(parts["ids"]), "replicates": [parts["replicates"]] * len(parts["ids"])}
        return fingerprint_parts(batch(**{**parts, **rows}))

    if not one["ids"] and not other["ids"]:
        other = {**other, "replicates": one["replicates"]}
    assert (printed(one) == printed(other)) == (one == other)


@PATIENT
@given(st.lists(st.text(max_size=6), max_size=40), st.integers(1, 7))
@example(['"', "\\", "\x7f", "é", ""], 2)
@example(['a", "b', "c"], 1)
@example([], 3)
def test_the_fingerprint_is_that_of_the_ids_as_one_json_text(monkeypatch, ids, at_once):
    """Whatever is written at once: posts of an earlier release are repeated with the fingerprints that it stored."""
    with monkeypatch.context() as patch:
        patch.setattr(batches, "AT_ONCE", at_once)
        printed = fingerprint_parts(batch(ids=ids, values=[0] * len(ids)))
    assert printed.split(b"\n")[1] == json.dumps(ids).encode()


@PATIENT
@given(st.lists(st.text(max_size=6), max_size=6))
@example([])
@example([""])
@example(["a\0b", "c"])
def test_a_batch_comes_out_of_a_pickle_as_it_went_in(ids):
    before = batch(ids=ids, values=[1] * len(ids), run="r", on_duplicate="skip")
    after = pickle.loads(pickle.dumps(before))
    assert fingerprint_parts(after) == fingerprint_parts(before)
    assert (after.item_ids, after.run, after.on_duplicate) == (before.item_ids, "r", "skip")
    assert after.rows.values.tolist() == before.rows.values.tolist()
    assert after.rows.statuses.tolist() == before.rows.statuses.tolist()


def test_reprs_tell_no_outcome():
    assert "array" not in repr(batch()) + repr(placed(batch()))
