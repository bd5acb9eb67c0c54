"""What is worked out of a hypothesis is kept for its part of a plan, whatever stands beside it."""

from __future__ import annotations

from service.domain.power.hypothesis_numbers import compute_on_part
from tests.domain import sample

TWO = {"hypotheses.1": {**sample.VALUE["hypotheses"][0], "id": "H2", "candidate": "C3"}}


def test_the_same_part_is_worked_out_once() -> None:
    asked: list[tuple[list[str], str, int]] = []

    def work(plan, _facts, setting, share, *, whole=False):  # type: ignore[no-untyped-def]
        asked.append(([each.id for each in plan.hypotheses], setting.hypothesis.id, share))
        return share, whole

    both = sample.plan(TWO)
    for made in (both, sample.plan(), sample.plan({"title": "Another"})):
        assert compute_on_part(work, made, {}, {"H1"}, "H1", 7) == (7, False)
    assert asked == [(["H1"], "H1", 7)]
    assert compute_on_part(work, both, {}, {"H1"}, "H1", 8) == (8, False)
    assert compute_on_part(work, both, {}, {"H1"}, "H1", 8, whole=True) == (8, True)
    assert compute_on_part(work, both, {}, {"H1", "H2"}, "H2", 8) == (8, False)
    assert compute_on_part(work, sample.plan({"populations.0.n": 400}), {}, {"H1"}, "H1", 7) == (7, False)
    assert compute_on_part(work, both, {"one": sample.manifest(500).facts()}, {"H1"}, "H1", 7) == (7, False)
    assert asked[1:] == [
        (["H1"], "H1", 8), (["H1"], "H1", 8), (["H1", "H2"], "H2", 8), (["H1"], "H1", 7), (["H1"], "H1", 7)
    ]  # fmt: skip


def test_two_kinds_of_answer_are_told_apart() -> None:
    def one(*_: object) -> str:
        return "one"

    def other(*_: object) -> str:
        return "other"

    found = [compute_on_part(work, sample.plan(), {}, {"H1"}, "H1") for work in (one, other)]
    assert found == ["one", "other"]
