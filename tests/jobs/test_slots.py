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
