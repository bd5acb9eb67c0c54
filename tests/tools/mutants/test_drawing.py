"""Which faults are drawn: seeded, spread over the rooms asked for, of one line never two."""

from __future__ import annotations

from collections import Counter

import pytest

from tools.affected.coverage_map import CoverageMap
from tools.mutants import __main__ as mutants
from tools.mutants.__main__ import SHARES, draw_faults, name_room, report


@pytest.mark.slow
def test_faults_are_spread_over_rooms_as_their_shares_say():
    faults = draw_faults(100, 3, None)
    assert Counter(name_room(fault.path, SHARES) for fault in faults) == SHARES
    lines = [(fault.path, fault.line) for fault in faults]
    assert len(set(lines)) == len(lines)


def test_a_seed_draws_the_same_faults_and_another_seed_others():
    only = ["service/kernels/unpaired"]
    first = draw_faults(10, 3, only)
    assert first == draw_faults(10, 3, only)
    assert set(first) != set(draw_faults(10, 4, only))


def test_rooms_that_are_asked_for_share_the_faults_those_of_the_client_too():
    only = ["service/kernels/unpaired", "client/forelock/questions"]
    faults = draw_faults(30, 5, only)
    assert Counter(name_room(fault.path, only) for fault in faults) == dict.fromkeys(only, 15)


def test_a_report_counts_by_the_rooms_that_were_asked_for(capsys):
    rows = [
        {"path": "client/forelock/questions/gate.py", "outcome": "quick"},
        {"path": "service/stats/power.py", "outcome": "survived"},
        {"path": "service/stats/shared/data/arms.py", "outcome": "suite"},
        {"path": "service/stats/shared/data/rows.py", "outcome": "undecided"},
    ]
    report(rows, ["client/forelock/questions", "service/stats/shared", "service/stats"])
    table = {line.split()[0]: line.split()[1:] for line in capsys.readouterr().out.splitlines()[2:]}
    assert table == {
        "client/forelock/questions": ["1", "1", "0", "0", "0", "0"],
        "service/stats": ["1", "0", "0", "0", "0", "1"],
        "service/stats/shared": ["2", "0", "1", "1", "0", "0"],
        "all": ["4", "1", "1", "1", "0", "1"],
    }


def test_a_test_that_fails_without_a_fault_has_noticed_none(monkeypatch, tmp_path):
    """A run ends with its first failure, so that those behind it are asked again."""
    fails = {"tests/a.py::test_1", "tests/a.py::test_3"}

    def run(choice, checkout, seconds, profile):
        first = next((name for name in choice.tests if name in fails), None)
        return int(first is not None), f"FAILED {first} - assert" if first else ""

    monkeypatch.setattr(mutants, "run_in_fork", run)
    names = [*(f"tests/a.py::test_{number}" for number in range(1, 5)), "ended with -24", ""]
    rows = [{"path": "a.py", "line": 1, "outcome": "quick", "by": name} for name in names]
    mutants.doubt_kills(rows, tmp_path)
    assert [row["outcome"] for row in rows] == ["doubtful", "quick", "doubtful", "quick", "quick", "quick"]


def test_without_a_map_nothing_is_planted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests chosen by guess would make survivors of faults that others see."""
    monkeypatch.setattr("sys.argv", ["mutants", "--count", "1"])
    monkeypatch.setattr(mutants, "load_map", CoverageMap)
    monkeypatch.setattr(mutants, "copy_checkout", lambda: pytest.fail("a copy was made"))
    with pytest.raises(SystemExit, match=r"\./do map"):
        mutants.main()
