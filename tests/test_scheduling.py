"""How tests are shared out among the processes of a run."""

from __future__ import annotations

from types import SimpleNamespace

from tests.scheduling import GroupScheduling

TESTS = [
    *(f"t.py::test_{number}" for number in range(40)),
    *(f"b.py::test_{number}@b" for number in range(5)),
]


class Process:
    """Keeps the numbers of the tests that it was told to run."""

    def __init__(self, name):
        self.gateway = SimpleNamespace(id=name)
        self.told, self.shutting_down = [], False

    def send_runtest_some(self, numbers):
        self.told += numbers

    def shutdown(self):
        self.shutting_down = True


def begun(pytestconfig):
    class Config:
        option = SimpleNamespace(loadscopereorder=True, tx=["popen", "popen"])
        hook = pytestconfig.hook

        def getvalue(self, name):
            return getattr(self.option, name)

    schedule, processes = GroupScheduling(Config()), [Process("one"), Process("two")]
    for process in processes:
        schedule.add_node(process)
        schedule.add_node_collection(process, TESTS)
    schedule.schedule()
    return schedule, processes


def test_every_test_runs_once_and_a_group_in_one_process(pytestconfig):
    schedule, processes = begun(pytestconfig)
    ran = dict.fromkeys(processes, 0)
    while any(ran[process] < len(process.told) for process in processes):
        for process in processes:
            if ran[process] < len(process.told):
                schedule.mark_test_complete(process, process.told[ran[process]])
                ran[process] += 1
                assert sum(map(len, schedule.assigned_work[process].values())) <= 7, (
                    "what is done is forgotten"
                )
    assert sorted(number for process in processes for number in process.told) == list(range(len(TESTS)))
    assert sum(any(number >= 40 for number in process.told) for process in processes) == 1
    assert schedule.tests_finished
    assert all(process.shutting_down for process in processes)


def test_what_a_process_left_when_it_crashed_is_run_by_the_other(pytestconfig):
    schedule, (crashes, stays) = begun(pytestconfig)
    done = crashes.told[0]
    schedule.mark_test_complete(crashes, done)
    assert schedule.remove_node(crashes) == TESTS[crashes.told[1]]
    at = 0
    while at < len(stays.told):
        schedule.mark_test_complete(stays, stays.told[at])
        at += 1
    assert sorted([done, *stays.told]) == list(range(len(TESTS)))
