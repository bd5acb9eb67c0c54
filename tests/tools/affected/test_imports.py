"""How far test files are from what they import."""

from __future__ import annotations

import pytest

from tools.affected.imports import ImportGraph


@pytest.fixture
def graph(tmp_path):
    files = {
        "service/kernels/sums.py": "",
        "service/stats/means.py": "from service.kernels import (\n    sums,\n)\n",
        "service/web/pages.py": "import service.stats.means as means\nTEMPLATES = 'templates'\n",
        "service/web/templates/list.html": "{% extends 'base.html' %}",
        "service/web/templates/base.html": "<p>",
        "client/forelock/words.py": "",
        "tests/stats/test_means.py": "from service.stats.means import mean\n",
        "tests/stats/helper.py": "from .test_means import mean\n",
        "tests/web/test_pages.py": "def test():\n    from service.web import pages\n",
        "tests/web/conftest.py": "from forelock.words import WORDS\n",
        "tests/test_other.py": "'''import service.nothing'''\n",
        "service/stats/registry.py": "import_module(f'service.stats.{name}')\n",
        "service/stats/medians.py": "",
        "service/stats/ranks/ties.py": "",
        "client/forelock/cli.py": "import_module(f'forelock.commands.{name}')\n",
        "client/forelock/commands/gates.py": "",
        "tests/stats/test_medians.py": "",
        "tests/stats/test_ranks.py": "",
        "tests/web/test_ranks.py": "",
        "tests/client/test_cli.py": "from forelock import cli\n",
        "migrations/env.py": "PLACE / 'sql'\n",
        "migrations/sql/0001.sql": "",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return ImportGraph(tmp_path)


def test_every_import_is_one_step(graph):
    assert graph.measure_distances("service/kernels/sums.py") == {
        "service/kernels/sums.py": 0,
        "service/stats/means.py": 1,
        "service/web/pages.py": 2,
        "tests/stats/test_means.py": 2,
        "tests/stats/helper.py": 3,
        "tests/web/test_pages.py": 3,
    }


def test_a_file_loads_what_it_imports_at_once_and_its_conftest_and_not_what_functions_import(graph):
    assert graph.list_loaded("service/web/pages.py") == {
        "service/web/pages.py",
        "service/stats/means.py",
        "service/kernels/sums.py",
    }
    assert graph.list_loaded("tests/web/test_pages.py") == {
        "tests/web/test_pages.py",
        "tests/web/conftest.py",
        "client/forelock/words.py",
    }


def test_tests_stand_on_the_conftest_above_them(graph):
    distances = graph.measure_distances("client/forelock/words.py")
    assert distances["tests/web/test_pages.py"] == 2
    assert "tests/test_other.py" not in distances


def test_a_template_is_read_by_what_names_it_and_else_by_what_names_its_room(graph):
    (graph.root / "service/web/templates/list.html").write_text("{% extends 'base.html' %}")
    assert graph.measure_distances("service/web/templates/base.html") == {
        "service/web/templates/base.html": 0,
        "service/web/templates/list.html": 1,
        "service/web/pages.py": 2,
        "tests/web/test_pages.py": 3,
    }
    assert graph.measure_distances("migrations/sql/0001.sql") == {
        "migrations/sql/0001.sql": 0,
        "migrations/env.py": 1,
    }


def test_a_test_that_bears_a_modules_name_is_next_to_it_though_a_register_imports_it(graph):
    assert graph.measure_distances("service/stats/medians.py") == {
        "service/stats/medians.py": 0,
        "tests/stats/test_medians.py": 1,
    }


def test_a_test_that_bears_a_packages_name_is_next_to_its_modules_in_its_own_room(graph):
    assert graph.measure_distances("service/stats/ranks/ties.py") == {
        "service/stats/ranks/ties.py": 0,
        "tests/stats/test_ranks.py": 1,
    }


def test_modules_that_are_imported_by_name_from_outside_have_the_importers_tests(graph):
    assert graph.measure_distances("client/forelock/commands/gates.py") == {
        "client/forelock/commands/gates.py": 0,
        "client/forelock/cli.py": 1,
        "tests/client/test_cli.py": 2,
    }
