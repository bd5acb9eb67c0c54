"""A small checkout, its tests recorded, a line of it changed: what runs, what is left, what is named."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tools.affected.repository import git
from tools.affected.choose import Choice
from tools.affected.coverage_map import load_map
from tools.affected.run import divide, list_idle_plugins

ROOT = Path(__file__).resolve().parents[3]
FILES = {
    ".gitignore": "__pycache__\n.do\n",
    "pytest.ini": "[pytest]\naddopts = --import-mode=importlib -ra\nmarkers = slow\n",
    "conftest.py": "from hypothesis import settings\nsettings.register_profile('again', settings())\n",
    "service/__init__.py": "",
    "service/sums.py": '''
from functools import cache
from pathlib import Path


@cache
def table():
    return 3


def add(a, b):
    """Give the sum."""
    return a + b


def unused():
    return 1


def rate():
    return float(Path(__file__).with_name("rate.txt").read_text())
''',
    "service/rate.txt": "2.0",
    "service/setting.sql": "",
    "tests/test_adding.py": """
import pytest


@pytest.fixture(scope="module")
def total():
    from service import sums

    return sums.add(1, 2)


def test_one(total):
    from service.sums import table

    assert total == table()


def test_two(total):
    from service.sums import table

    assert total > table() - 1


def test_nothing():
    pass


@pytest.mark.slow
def test_slow():
    raise AssertionError
""",
    "tests/test_rate.py": "from service.sums import rate\n\ndef test_rate():\n    assert rate() == 2\n",
}


pytestmark = pytest.mark.xdist_group("quick")  # one recording for all


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    root = tmp_path_factory.mktemp("checkout")
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (root / "tools").mkdir()
    shutil.copy(ROOT / "tools/__init__.py", root / "tools")
    shutil.copytree(
        ROOT / "tools/affected", root / "tools/affected", ignore=shutil.ignore_patterns("__pycache__")
    )
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "first")
    done = run(root, "pytest", "-q", "-m", "not slow", "-p", "tools.affected.recorder")
    assert done.returncode == 0, done.stdout + done.stderr
    return root


@pytest.fixture
def checkout(recorded, tmp_path):
    return Path(shutil.copytree(recorded, tmp_path / "checkout"))


def run(root, *module):
    # Python tells by seconds whether a module is newer than its compiled form, and these tests are faster.
    environment = {**os.environ, "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"}
    for name in ("PYTEST_ADDOPTS", "OPENBLAS_NUM_THREADS"):
        environment.pop(name, None)
    return subprocess.run(
        [sys.executable, "-m", *module], cwd=root, env=environment, capture_output=True, text=True
    )


def replace(root, name, old, new):
    text = (root / name).read_text()
    assert old in text
    (root / name).write_text(text.replace(old, new))


def test_a_fault_is_noticed_by_the_tests_of_a_fixture_that_runs_it(checkout):
    replace(checkout, "service/sums.py", "a + b", "a - b")
    done = run(checkout, "tools.affected")
    assert done.returncode == 1
    assert "FAILED tests/test_adding.py::test_" in done.stdout
    assert "FAILED   tests of 1 files" in done.stderr


def test_a_function_with_a_cache_is_run_by_every_test_that_calls_it(recorded):
    stored = load_map(recorded / ".do/coverage-map.npz")
    column = stored.bits[:, stored.parts.index("service/sums.py::table")]
    names = {name.partition("::")[2] for name, runs in zip(stored.tests, column, strict=True) if runs}
    assert names == {"test_one", "test_two"}


def test_a_recording_that_is_ended_keeps_the_files_that_were_whole(checkout):
    (checkout / ".do/coverage-map.npz").unlink()
    conftest = FILES["conftest.py"] + "from tools.affected import recorder\nrecorder.SAVED_EVERY = 0.0\n"
    (checkout / "conftest.py").write_text(conftest)
    ended = "import os\n\ndef test_one():\n    pass\n\ndef test_two():\n    os._exit(9)\n"
    (checkout / "tests/test_rate.py").write_text(ended)
    done = run(
        checkout, "pytest", "-q", "-m", "not slow", "-p", "no:randomly", "-p", "tools.affected.recorder"
    )
    assert done.returncode == 9
    names = [f"tests/test_adding.py::test_{name}" for name in ("one", "two", "nothing")]
    assert sorted(load_map(checkout / ".do/coverage-map.npz").tests) == sorted(names)


def test_a_harmless_change_runs_what_runs_it_and_nothing_else(checkout):
    replace(checkout, "service/sums.py", "a + b", "b + a")
    replace(checkout, "tests/test_rate.py", "== 2", "== 2.0")
    (checkout / "tests/test_rate.py").write_text(FILES["tests/test_rate.py"])  # as it was
    done = run(checkout, "tools.affected")
    assert (done.returncode, done.stdout) == (0, "")
    assert "ok       tests of 1 files" in done.stderr
    assert "left" not in done.stderr


def test_a_file_that_is_no_python_is_tested_by_what_opens_it(checkout):
    (checkout / "service/rate.txt").write_text("3.0")
    assert "test_rate.py::test_rate" in run(checkout, "tools.affected").stdout


def test_what_no_test_runs_or_reads_is_named_and_no_success(checkout):
    replace(checkout, "service/sums.py", "return 1", "return 2")
    (checkout / "service/setting.sql").write_text("SELECT 1")
    done = run(checkout, "tools.affected")
    assert done.returncode == 1
    assert "no test runs service/sums.py::unused" in done.stderr
    assert "no test runs service/setting.sql" in done.stderr


def test_without_a_map_the_files_that_import_it_run_and_it_is_said(checkout):
    (checkout / ".do/coverage-map.npz").unlink()
    replace(checkout, "service/sums.py", "float(", "1 + float(")
    done = run(checkout, "tools.affected")
    assert "no map of what tests run" in done.stderr
    assert "test_rate.py::test_rate" in done.stdout


def test_tests_that_are_all_slow_are_no_failure(checkout):
    (checkout / "tests/test_adding.py").write_text(
        "import pytest\n\n@pytest.mark.slow\ndef test_a():\n    raise AssertionError\n"
    )
    assert run(checkout, "tools.affected").returncode == 0


def test_numpy_has_one_thread_however_early_it_is_loaded(checkout):
    """A calculator has one: with two, a bootstrap's last digit differed, and a harmless change failed a test."""
    (checkout / "tests/test_adding.py").write_text(
        "import os\n\ndef test_a():\n    assert os.environ['OPENBLAS_NUM_THREADS'] == '1'\n"
    )
    done = run(checkout, "tools.affected")
    assert done.returncode == 0, done.stdout


def test_files_are_divided_by_their_seconds_and_stay_whole():
    seconds = {"tests/test_a.py": 3.0, "tests/test_b.py": 1.0, "tests/test_c.py": 1.0}
    tests = [f"{name}::test_{at}" for at in range(3) for name in seconds]
    choice = Choice(["tests/test_changed.py"], tests, ["tests/test_importing.py"], seconds)
    first, second = divide(choice, 2)
    assert {name.partition("::")[0] for name in first.tests} == {"tests/test_a.py"}
    assert {name.partition("::")[0] for name in second.tests} == {"tests/test_b.py", "tests/test_c.py"}
    assert first.changed + second.changed == choice.changed
    assert first.importing + second.importing == choice.importing
    assert first.tests == tests[::3]
    assert divide(choice, 1) == [choice]


def test_little_is_not_divided():
    choice = Choice(
        tests=["tests/test_a.py::test_1", "tests/test_b.py::test_1"], seconds={"tests/test_a.py": 0.2}
    )
    assert divide(choice, 2) == [choice]


def test_the_first_failure_ends_what_runs_beside_it(checkout):
    """A test that would take ten minutes is not waited for: the files that were changed are divided in turn."""
    for name, body in (
        ("a_long", "import time\n    time.sleep(600)"),
        ("b_wrong", "assert False"),
        ("c_right", "pass"),
    ):
        (checkout / f"tests/test_{name}.py").write_text(f"def test_it():\n    {body}\n")
    done = run(checkout, "tools.affected")
    assert done.returncode == 1
    assert "FAILED tests/test_b_wrong.py::test_it" in done.stdout


def test_plugins_that_take_long_to_import_are_loaded_where_a_test_needs_them():
    assert "schemathesis" in list_idle_plugins(["tests/kernels/test_tango.py"])
    assert "schemathesis" not in list_idle_plugins(
        ["tests/kernels/test_tango.py", "tests/api/test_contract.py"]
    )
