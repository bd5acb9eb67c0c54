"""Which tests a change asks for, by a map of what tests run and by imports."""

from __future__ import annotations

import numpy as np
import pytest

from tools.affected.changes import Change
from tools.affected.choose import FILES, MODULE_SECONDS, PACKAGE_SECONDS, choose_tests
from tools.affected.coverage_map import CoverageMap, add_to_map, load_map
from tools.affected.imports import ImportGraph

FILES_OF_A_CHECKOUT = {
    "service/sums.py": "",
    "service/means.py": "from service import sums\n",
    "service/limits.py": "",
    "service/pages.py": "from service.limits import MOST\n",
    "tests/test_sums.py": "from service import sums\n",
    "tests/test_means.py": "from service import means\n",
    "tests/test_pages.py": "from service import pages\n",
    "tests/journeys/test_all.py": "from service import sums\n",
}
RUNS = {  # test: seconds, and the functions it runs
    "tests/test_sums.py::test_add": (1.0, {"service/sums.py::add"}),
    "tests/test_sums.py::test_slow": (50.0, {"service/sums.py::add"}),
    "tests/test_means.py::test_mean": (0.1, {"service/sums.py::add", "service/means.py::mean"}),
    "tests/test_pages.py::test_page": (0.1, {"service/pages.py::page", "service/templates/list.html"}),
}


@pytest.fixture
def graph(tmp_path):
    for name, text in FILES_OF_A_CHECKOUT.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return ImportGraph(tmp_path)


@pytest.fixture
def coverage():
    return make_map(RUNS, "service/sums.py::unused")


def make_map(runs, *further):
    parts = sorted({part for _, parts in runs.values() for part in parts} | set(further))
    bits = np.array([[part in run for part in parts] for _, run in runs.values()])
    return CoverageMap(parts, list(runs), np.array([seconds for seconds, _ in runs.values()]), bits)


def change(path, *functions):
    return Change(path, frozenset(functions) or None)


def test_tests_that_run_a_changed_function_are_chosen_and_dear_ones_left(graph, coverage):
    choice = choose_tests([change("service/sums.py", "add")], graph, coverage)
    assert set(choice.tests) == {"tests/test_sums.py::test_add", "tests/test_means.py::test_mean"}
    assert (choice.left, choice.importing, choice.untested) == (1, [], [])


def test_without_a_bound_all_of_them_are_chosen(graph, coverage):
    choice = choose_tests([change("service/sums.py", "add")], graph, coverage, float("inf"))
    assert (len(choice.tests), choice.left) == (3, 0)


def test_a_test_that_imports_the_module_comes_before_an_equally_dear_one_that_does_not(graph):
    runs = {
        name: (1.0, {"service/sums.py::add"}) for name in ("tests/test_means.py::a", "tests/test_sums.py::b")
    }
    choice = choose_tests([change("service/sums.py", "add")], graph, make_map(runs), 1.1)
    assert choice.tests == ["tests/test_sums.py::b"]


def test_a_file_that_loads_much_costs_more_than_its_tests(graph):
    names = ("tests/test_means.py::a", "tests/test_sums.py::b")
    runs = {name: (0.1, {"service/sums.py::add"}) for name in names}
    for number in range(1000):
        graph.loads[f"service/{number}.py"] = {f"service/{number + 1}.py"}
    graph.loads["tests/test_sums.py"] |= {"service/0.py"}
    of_all = 1000 * MODULE_SECONDS
    choice = choose_tests([change("service/sums.py", "add")], graph, make_map(runs), of_all)
    assert choice.tests == ["tests/test_means.py::a"]
    graph.loads["tests/test_means.py"] |= {"service/0.py"}  # what one file loads, the next has
    choice = choose_tests(
        [change("service/sums.py", "add")], graph, make_map(runs), of_all + PACKAGE_SECONDS + 1
    )
    assert set(choice.tests) == set(names)


def test_every_changed_function_has_a_test_before_one_has_two(graph):
    runs = {f"tests/test_sums.py::{n}": (1.0, {"service/sums.py::add"}) for n in range(9)}
    runs["tests/test_means.py::mean"] = (2.0, {"service/means.py::mean"})
    changes = [change("service/sums.py", "add"), change("service/means.py", "mean")]
    choice = choose_tests(changes, graph, make_map(runs), 2.0)
    assert "tests/test_means.py::mean" in choice.tests
    assert len(choice.tests) == 2


def test_the_only_test_runs_however_dear(graph, coverage):
    coverage.seconds[:] = 100.0
    assert choose_tests([change("service/means.py", "mean")], graph, coverage).tests == [
        "tests/test_means.py::test_mean"
    ]


def test_a_function_that_no_test_runs_is_named(graph, coverage):
    choice = choose_tests([change("service/sums.py", "unused")], graph, coverage)
    assert choice.untested == ["service/sums.py::unused"]


def test_a_new_function_counts_as_the_others_of_its_module(graph, coverage):
    choice = choose_tests([change("service/means.py", "median")], graph, coverage)
    assert (choice.tests, choice.untested) == (["tests/test_means.py::test_mean"], [])


def test_a_line_outside_of_functions_is_tested_by_what_runs_the_importing_modules(graph, coverage):
    assert choose_tests([change("service/limits.py")], graph, coverage).tests == [
        "tests/test_pages.py::test_page"
    ]


def test_a_template_is_tested_by_what_reads_it(graph, coverage):
    choice = choose_tests([change("service/templates/list.html")], graph, coverage)
    assert choice.tests == ["tests/test_pages.py::test_page"]


def test_what_no_test_reads_is_named_but_for_prose(graph, coverage):
    choice = choose_tests([change("service/templates/other.html"), change("NOTES.md")], graph, coverage)
    assert choice.untested == ["service/templates/other.html"]


def test_a_changed_test_file_runs_whole(graph, coverage):
    choice = choose_tests(
        [change("tests/journeys/test_all.py"), change("service/sums.py", "add")], graph, coverage
    )
    assert choice.changed == ["tests/journeys/test_all.py"]


def test_without_a_map_the_nearest_importing_files_run(graph):
    choice = choose_tests([change("service/sums.py", "add")], graph, CoverageMap())
    assert (choice.importing, choice.untested) == (["tests/test_sums.py", "tests/test_means.py"], [])


def test_files_that_the_map_has_not_seen_run_for_their_imports(graph, coverage):
    graph.texts["tests/test_new.py"] = ""
    graph.importers["service/sums.py"].add("tests/test_new.py")
    choice = choose_tests([change("service/sums.py", "add")], graph, coverage)
    assert choice.importing == ["tests/test_new.py"]


def test_a_file_that_bears_the_modules_name_runs_however_far_it_imports_it(graph):
    coverage = make_map({"tests/test_means.py::test_mean": (0.1, {"service/sums.py::add"})})
    graph.importers["service/sums.py"].remove("tests/test_sums.py")
    for nearer, farther in (("service/sums.py", "a.py"), ("a.py", "b.py"), ("b.py", "tests/test_sums.py")):
        graph.importers[nearer].add(farther)
    assert choose_tests([change("service/sums.py", "add")], graph, coverage).importing == [
        "tests/test_sums.py"
    ]


def test_no_more_files_run_than_time_is_for_and_the_others_are_counted(graph):
    for n in range(FILES):
        graph.importers["service/sums.py"].add(f"tests/test_{n}.py")
    choice = choose_tests([change("service/sums.py", "add")], graph, CoverageMap())
    assert (len(choice.importing), choice.left_files) == (FILES, 2)
    assert choice.importing[0] == "tests/test_0.py"


def test_a_map_keeps_what_is_not_recorded_again(tmp_path):
    place = tmp_path / "map.npz"
    add_to_map(make_map(RUNS), place)
    add_to_map(make_map({"tests/test_sums.py::test_new": (2.0, {"service/sums.py::subtract"})}), place)
    stored = load_map(place)
    assert dict(zip(stored.tests, stored.seconds.tolist(), strict=True)) == {
        "tests/test_means.py::test_mean": 0.1,
        "tests/test_pages.py::test_page": 0.1,
        "tests/test_sums.py::test_new": 2.0,
    }
    runs = {
        name: {stored.parts[column] for column in np.flatnonzero(row)}
        for name, row in zip(stored.tests, stored.bits, strict=True)
    }
    assert runs["tests/test_sums.py::test_new"] == {"service/sums.py::subtract"}
    assert runs["tests/test_pages.py::test_page"] == RUNS["tests/test_pages.py::test_page"][1]


def test_a_map_follows_a_file_that_moved_within_its_room():
    runs = {
        "tests/stats/test_sums.py::a": (1.0, {"service/stats/sums.py::add", "service/stats/gone.py::f"}),
        "tests/stats/test_new.py::b": (1.0, {"service/stats/shared/sums.py::add"}),
    }
    present = {
        "service/stats/shared/sums.py", "service/kernels/gone.py", "tests/stats/shared/test_sums.py",
        "tests/stats/test_new.py",
    }  # fmt: skip
    followed = make_map(runs).follow_moves(present)
    assert followed.tests == ["tests/stats/shared/test_sums.py::a", "tests/stats/test_new.py::b"]
    assert followed.parts == ["service/stats/gone.py::f", "service/stats/shared/sums.py::add"]
    assert followed.bits.tolist() == [[True, True], [False, True]]


def test_a_map_of_files_that_are_where_they_were_stays_as_it_is(graph, coverage):
    present = {*graph.texts, "service/other.py"}
    followed = coverage.follow_moves(present)
    assert (followed.tests, followed.parts) == (coverage.tests, coverage.parts)
    assert np.array_equal(followed.bits, coverage.bits)


def test_a_test_that_was_recorded_in_both_places_counts_as_its_later_self():
    runs = {
        "tests/stats/test_sums.py::a": (1.0, {"service/stats/sums.py::add"}),
        "tests/stats/shared/test_sums.py::a": (2.0, {"service/stats/sums.py::take"}),
    }
    followed = make_map(runs).follow_moves({"service/stats/sums.py", "tests/stats/shared/test_sums.py"})
    assert (followed.tests, followed.seconds.tolist()) == (["tests/stats/shared/test_sums.py::a"], [2.0])
    assert dict(zip(followed.parts, followed.bits[0].tolist(), strict=True)) == {
        "service/stats/sums.py::add": False, "service/stats/sums.py::take": True,
    }  # fmt: skip
