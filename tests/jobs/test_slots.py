"""Turns at the pool."""

from __future__ import annotations

import threading

from service.jobs.slots import Slots


def test_there_are_as_many_as_said():
    slots = Slots(2)
    assert slots.take("a", 0)
    assert slots.take("a", 0)
    assert not slots.take("b", 0)
    slots.give("a")
    assert slots.take("b", 0)


def test_the_next_goes_to_the_project_that_holds_the_fewest():
    slots, order = Slots(2), []
    assert slots.take("a", 0)
    assert slots.take("a", 0)

    def wait(project):
        assert slots.take(project, 30)
        order.append(project)

    threads = []
    for number, project in enumerate(("a", "a", "b"), 1):
        threads.append(threading.Thread(target=wait, args=(project,)))
        threads[-1].start()
        while slots.waiting < number:
            pass
    for _ in range(3):
        before = len(order)
        slots.give("a" if before == 0 else order[-1])
        while len(order) == before:
            pass
    for thread in threads:
        thread.join()
    assert order == ["b", "a", "a"]


def test_who_gave_up_waiting_holds_nobody_up():
    slots = Slots(1)
    assert slots.take("a", 0)
    assert not slots.take("b", 0.01)
    slots.give("a")
    assert slots.take("a", 0)


def test_long_calls_leave_one_to_short_ones():
    slots = Slots(3)
    assert slots.take("a", 0, long=True)
    assert slots.take("b", 0, long=True)
    assert not slots.take("c", 0, long=True)
    assert slots.take("a", 0)
    slots.give("a")
    slots.give("b", long=True)
    assert slots.take("c", 0, long=True)


def test_short_calls_that_never_end_keep_no_long_one_out():
    slots = Slots(2)
    assert slots.take("a", 0)
    assert slots.take("b", 0, long=True)
    slots.give("b", long=True)
    assert slots.take("b", 0, long=True)


def test_where_there_is_one_a_long_call_may_have_it():
    slots = Slots(1)
    assert slots.take("a", 0, long=True)
    assert not slots.take("b", 0)
    slots.give("a", long=True)
    assert slots.take("b", 0)
