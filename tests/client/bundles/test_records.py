"""Struck batches, early ends, deviations, amendments, and whatever odd value stands in a signed text."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from forelock.bundles.findings import Report
from forelock.bundles.verifying import Opened, Recomputed, exit_status
from forelock.bundles.words import as_text

from .making import (
    ID,
    World,
    batch_body,
    block,
    checked,
    collected,
    failures,
    judged,
    locked,
    plan,
    say,
    sha256,
    status,
    text,
    verdict,
    with_deviation,
)

# Struck batches, early ends, deviations, amendments


def test_a_struck_batch_counts_for_nothing_and_is_told() -> None:
    world = locked()
    rows = b""
    for number, arm in enumerate("AAB", 1):
        data = block(bytes([number] * 16), range(4), [0, 1, 0, 1])
        world.log("batch", batch_body(number, arm, data, 4))
        rows += data
        if number == 1:
            world.log("batch_voided", {"preregistration_id": ID, "batch": 1, "reason": "a wrong file"})
    world.members["rows.bin"] = rows
    report = checked(judged(voided=[1], world=world).bundle())
    assert failures(report) == ""
    assert "Batch 1 was struck: a wrong file" in report.marks


def half(world: World, arms: str = "AB", items: int = 2) -> World:
    """The same with the results of some items alone, a batch of each arm."""
    rows = b""
    for number, arm in enumerate(arms, 1):
        data = block(bytes([number] * 16), range(items), [1] * items)
        world.log("batch", batch_body(number, arm, data, items))
        rows += data
    world.members["rows.bin"] = rows
    return world


def looked(world: World, units: int) -> World:
    world.log("look", {"preregistration_id": ID, "look": 1, "decision": "stop", "units": {"p": units}})
    return world


def test_a_look_may_end_it_early() -> None:
    assert status(judged(world=half(locked())).bundle()) == 3
    report = checked(judged(world=looked(half(locked()), 2)).bundle())
    assert failures(report) == ""
    assert any("ended early" in each.sentence for each in report.checks)


def test_results_that_a_look_saw_cannot_be_left_out() -> None:
    for world in (looked(half(locked()), 3), looked(half(locked(), "A"), 2)):
        assert "ended the collection on" in failures(checked(judged(world=world).bundle()))
    late = looked(half(locked()), 2)
    late.log("batch", batch_body(3, "A", block(bytes(16), [2], [1]), 1))
    late.members["rows.bin"] += block(bytes(16), [2], [1])
    assert "after an entry that ended" in failures(checked(judged(world=late).bundle()))


@pytest.mark.parametrize(("received", "expected"), [(5, 8), (8, 8), (4, 9), (None, 8), ("4", 8), (4.5, 8)])
def test_a_closed_collection_has_what_its_entry_counted(received: Any, expected: Any) -> None:
    """Whoever makes a bundle may leave the last batch out: the numbers of the others have no gap."""

    def closed(received: Any, expected: Any) -> Report:
        world = half(locked())
        body = {"preregistration_id": ID, "received": received, "expected": expected, "deviation": 1}
        world.log("close", body)
        says = (
            f"the collection was closed early, with {received} of {expected} planned results in (deviation 1)"
        )
        mark = {"code": "closed_early", "effect": "flag", "says": says}
        say(world, verdict(sha256(world.members["plans/1.json"])) | {"marks": [mark]})
        return checked(world.bundle())

    assert failures(closed(4, 8)) == ""
    assert "closed the collection with" in failures(closed(received, expected))


def test_deviations_are_compared_with_their_entries() -> None:
    world = judged(world=with_deviation())
    assert any(each.name == "deviations" for each in checked(world.bundle()).checks)
    assert status(world.bundle(**{"deviations/1.json": text({"number": 1, "title": "more items"})})) == 3
    assert status(world.bundle(**{"deviations/1-decision-1.json": None})) == 3


def test_an_amended_plan_is_the_one_that_counts() -> None:
    world = locked()
    amended = json.loads(world.members["plans/1.json"]) | {"title": "A smaller plan"}
    world.members["plans/2.json"] = text(amended)
    body = {"preregistration_id": ID, "version": 2, "plan_sha256": sha256(text(amended))}
    world.log("plan_amended", body)
    report = checked(world.bundle())
    assert failures(report) == ""
    assert report.title == "A smaller plan"
    assert status(world.bundle(**{"plans/2.json": world.members["plans/1.json"]})) == 3


def test_what_the_log_says_beside_is_told() -> None:
    world = collected()
    world.log("run", {"preregistration_id": ID})
    world.log("withdrawal", {"preregistration_id": ID})
    marks = " ".join(checked(judged(world=world).bundle()).marks)
    assert "was withdrawn" in marks
    assert "1 runs were bound" in marks


def test_the_end_of_an_embargo_is_that_of_the_plan_and_happens_once() -> None:
    def told(*days: str, named: str | None = "2027-03-31") -> Report:
        world = collected(sections={"embargo_until": named} if named else {})
        for day in days:
            world.log("published", {"preregistration_id": ID, "embargo_until": day})
        return checked(judged(world=world).bundle())

    assert (failures(told()), failures(told("2027-03-31"))) == ("", "")
    assert "at the end of its embargo, 2027-03-31" in " ".join(told("2027-03-31").marks)
    for wrong in (told("2027-03-30"), told("2027-03-31", named=None), told("2027-03-31", "2027-03-31")):
        assert "another embargo" in failures(wrong)


def test_an_early_end_by_hand_is_in_the_verdict() -> None:
    def ended(**more: Any) -> Report:
        world = collected(arms="A")
        world.log("close", {"preregistration_id": ID, "received": 4, "expected": 8, "deviation": 1})
        said = verdict(sha256(world.members["plans/1.json"]), "invalid") | more
        say(world, said)
        return checked(world.bundle())

    said = "the collection was closed early, with 4 of 8 planned results in (deviation 1)"
    mark = {"code": "closed_early", "effect": "flag", "says": said}
    assert exit_status(ended(marks=[mark])) == 4
    assert "early close" in failures(ended())
    assert "early close" in failures(ended(marks=[mark | {"says": said.replace("4 of 8", "8 of 8")}]))


def opened_early(*, late: bool, mark: dict[str, Any] | None, outcome: str = "invalid") -> Report:
    """A record whose outcomes somebody read before the verdict: after everything was in, or in between."""
    world = collected(arms="A" if late else "AB")
    world.log("unblinding", {"preregistration_id": ID})
    if late:
        data = block(bytes([2] * 16), range(4), [1, 0, 1, 1])
        world.log("batch", batch_body(2, "B", data, 4))
        world.members["rows.bin"] += data
    said = verdict(sha256(world.members["plans/1.json"]), outcome) | ({"marks": [mark]} if mark else {})
    say(world, said)
    return checked(world.bundle())


def test_an_early_look_at_outcomes_is_in_the_verdict() -> None:
    flag, invalid = (
        {"code": "unblinded", "effect": "flag", "batches": []},
        {"code": "unblinded", "effect": "invalid"},
    )
    assert exit_status(opened_early(late=False, mark=flag, outcome="supported")) == 0
    assert exit_status(opened_early(late=True, mark=invalid | {"batches": [2]})) == 4
    for report in (
        opened_early(late=False, mark=None, outcome="supported"),
        opened_early(late=True, mark=None),
        opened_early(late=True, mark=flag),
        opened_early(late=True, mark=invalid | {"batches": [1]}),
        opened_early(late=True, mark=invalid | {"batches": [2]}, outcome="supported"),
        checked(judged_with_a_mark_for_nothing(flag)),
    ):
        assert exit_status(report) == 3
        assert "early look" in failures(report) or "not invalid" in failures(report)


def test_a_choice_on_these_items_is_in_the_verdict() -> None:
    def told(
        tried: Any, selection: Any = None, outcome: str = "supported", population: str = "p", **more: Any
    ) -> str:
        of = {"population": population, "baseline": "A", "candidate": "B", "endpoint": "accuracy"}
        more["hypotheses"] = [{"id": "H1", **of}]
        world = collected(sections={**more, **({"tried": tried} if tried else {})})
        said = verdict(sha256(world.members["plans/1.json"]), outcome)
        said["hypotheses"][0] |= of | ({"selection": selection} if selection else {})
        say(world, said)
        return failures(checked(world.bundle()))

    items = json.loads(collected().members["plans/1.json"])["populations"][0]["items_sha256"]
    own = {"n": 10, "on": items}
    assert told(own, {"tried": 10}) == ""
    assert told(own, outcome="invalid") == ""
    assert told({"n": 10, "on": "another"}) == ""
    suite = {"id": "s", "populations": ["p", "q"]}
    assert told(own, {"tried": 10}, population="s", suites=[suite]) == ""
    assert "what was tried" in told(own, population="s", suites=[suite])
    for wrong in (told(own), told(own, {"tried": 2}), told(None, {"tried": 2})):
        assert "what was tried on these items" in wrong


def test_an_arm_that_was_left_open_is_named_once_before_its_results_and_in_the_verdict() -> None:
    card = {"model": {"name": "x-2"}, "tools": ["a", "b"], "decoding": {"temperature": 0}}
    body = {"preregistration_id": ID, "arm": "B", "card": card, "evidence": {"text": "out on\n2027-02-11"}}
    mark = {"code": "arm_named", "effect": "note", "says": "arm 'B' is x-2, a + b (out on 2027-02-11)"}

    def told(*marks: dict[str, Any], named: Sequence[Any] = (body,), late: bool = False, **card: Any) -> str:
        arms = [{"id": "B", "criterion": "the first", **card}]
        world = collected(arms="A", sections={"arms": arms})
        for each in () if late else named:
            world.log("arm_named", each)
        data = block(bytes([2] * 16), range(4), [1, 0, 1, 1])
        world.log("batch", batch_body(2, "B", data, 4))
        world.members["rows.bin"] += data
        for each in named if late else ():
            world.log("arm_named", each)
        said = verdict(sha256(world.members["plans/1.json"]))
        say(world, said | ({"marks": list(marks)} if marks else {}))
        return failures(checked(world.bundle()))

    assert told(mark) == ""
    assert "before anybody named arm 'B'" in told(mark, late=True)
    assert "before anybody named arm 'B'" in told(named=())
    assert "was named before" in told(mark, named=(body, body))
    assert "does not leave open" in told(mark, named=(body | {"arm": "A"},))
    assert "does not leave open" in told(mark, criterion=None)
    assert "something else of the arms" in told()
    assert "something else of the arms" in told(mark | {"effect": "flag"})
    for part in ("'B'", "x-2", "a + b", "2027-02-11"):
        assert "something else of the arms" in told(mark | {"says": mark["says"].replace(part, "")})


@pytest.mark.parametrize("effect", ["invalid", "flag", "note"])
def test_results_of_another_system_are_in_the_verdict(effect: str) -> None:
    def told(*marks: dict[str, Any], outcome: str = "supported", card: str = effect) -> Report:
        world = collected(arms="A", sections={"arms": [{"id": "B", "on_difference": card}]})
        data = block(bytes([2] * 16), range(4), [1, 0, 1, 1])
        world.log("batch", batch_body(2, "B", data, 4) | {"card_differs": ["model.name"]})
        world.members["rows.bin"] += data
        said = verdict(sha256(world.members["plans/1.json"]), outcome)
        say(world, said | ({"marks": list(marks)} if marks else {}))
        return checked(world.bundle())

    mark = {"code": "arm_differs", "effect": effect, "batches": [2]}
    assert failures(told(mark)) == ""
    for wrong in (
        told(),
        told(mark | {"batches": [1]}),
        told(mark, card="flag" if effect != "flag" else "note"),
    ):
        assert exit_status(wrong) == 3
        assert "another system" in failures(wrong)


def test_items_of_other_content_are_in_the_verdict() -> None:
    def told(*marks: dict[str, Any]) -> Report:
        world = collected(arms="A")
        data = block(bytes([2] * 16), range(4), [1, 0, 1, 1])
        world.log("batch", batch_body(2, "B", data, 4) | {"content_differs": 3})
        world.members["rows.bin"] += data
        said = verdict(sha256(world.members["plans/1.json"]), "supported")
        say(world, said | ({"marks": list(marks)} if marks else {}))
        return checked(world.bundle())

    mark = {"code": "content_differs", "effect": "flag", "batches": [2]}
    assert failures(told(mark)) == ""
    for wrong in (told(), told(mark | {"batches": [1]}), told(mark | {"effect": "note"})):
        assert exit_status(wrong) == 3
        assert "other content" in failures(wrong)


def judged_with_a_mark_for_nothing(mark: dict[str, Any]) -> bytes:
    world = collected()
    said = verdict(sha256(world.members["plans/1.json"])) | {"marks": [mark]}
    say(world, said)
    return world.bundle()


def test_erased_rows_are_told_and_cannot_be_judged_again() -> None:
    world = judged()
    world.log("erasure", {"preregistration_id": ID})
    report = checked(world.bundle(**{"rows.bin": None}))
    assert failures(report) == ""
    assert exit_status(report) == 5


# Whatever stands in the texts, whole and signed


ODD = [
    None,
    True,
    0,
    -1,
    1.5,
    2**53 - 1,
    "",
    "x",
    "\x1b[31m",
    [],
    [[]],
    [None],
    {},
    {"a": []},
    [{}],
    "9" * 40,
]


def places(value: Any) -> list[tuple[Any, ...]]:
    """Every place of a value, as a path."""
    if isinstance(value, dict):
        return [(), *((name, *rest) for name, inner in value.items() for rest in places(inner))]
    if isinstance(value, list):
        return [(), *((index, *rest) for index, inner in enumerate(value) for rest in places(inner))]
    return [()]


def put(value: Any, path: tuple[Any, ...], odd: Any) -> Any:
    if not path:
        return odd
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = put(copy[path[0]], path[1:], odd)
    return copy


@pytest.mark.parametrize("what", ["plan", "items", "verdict", "entries"])
def test_odd_values_end_in_a_sentence_and_no_traceback(what: str) -> None:
    """Somebody who holds the signing key writes whatever he likes into texts that fit their hashes."""

    def world_of(change: Callable[[str, Any], Any]) -> World:
        world = World()
        items = text(change("items", {"item_ids": [f"item {number}" for number in range(4)]}))
        plan_text = text(change("plan", plan(sha256(items))))
        world.members |= {"plans/1.json": plan_text, "manifests/0.json": items}
        world.log("plan_locked", {"preregistration_id": ID, "version": 1, "plan_sha256": sha256(plan_text)})
        rows = b""
        for number, arm in enumerate("AAB", 1):
            data = block(bytes([number] * 16), range(4), [1, 0, 1, 1])
            world.log("batch", batch_body(number, arm, data, 4))
            rows += data
        world.log("batch_voided", {"preregistration_id": ID, "batch": 1, "reason": "a wrong file"})
        filed = text({"number": 1})
        for more in ({"deviation_sha256": sha256(filed)}, {"decision": 1, "decision_sha256": sha256(filed)}):
            world.log("deviation", {"preregistration_id": ID, "deviation": 1, **more})
        world.log("look", {"preregistration_id": ID, "decision": "continue"})
        said = text(change("verdict", verdict(sha256(plan_text), voided=[1])))
        named = {"deviations/1.json": filed, "deviations/1-decision-1.json": filed, "verdict.json": said}
        world.members |= {"rows.bin": rows, **named}
        body = {"preregistration_id": ID, "plan_sha256": sha256(plan_text), "verdict_sha256": sha256(said)}
        world.log("verdict", body)
        leaves = [json.loads(each) for each in world.leaves]
        world.leaves = [text(each) for each in change("entries", leaves)]
        return world

    seen: dict[str, Any] = {}
    world = world_of(lambda name, value: seen.setdefault(name, value))
    assert failures(checked(world.bundle())) == ""
    chosen = random.Random(what)
    for path in places(seen[what]):
        if not path or (what == "entries" and path[-1] == "kind") or (len(path) == 1 and what == "entries"):
            continue
        for odd in chosen.sample(ODD, 5):

            def change(name: str, value: Any, path: Any = path, odd: Any = odd) -> Any:
                return put(value, path, odd) if name == what else value

            report = checked(world_of(change).bundle(), recompute=recompute_nothing)
            assert exit_status(report) in (0, 3, 4, 10, 11, 12), (path, odd)
            assert "\x1b" not in as_text(report, "bundle.zip", 3)


def recompute_nothing(opened: Opened) -> Recomputed:
    assert [len(each.values) for each in opened.batches()]
    return Recomputed(True, False, "the same")
