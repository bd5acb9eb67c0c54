"""Statistical tests in the process of the command: what is loaded for them, and what is not."""

from __future__ import annotations

import json
import subprocess
import sys

from service.ingest.harnesses import registry as registry_of_harnesses
from service.stats.shared.declaring import registry

PROBE = """
import json, sys
from forelock import cli
status = cli.main(["run", "mcnemar", sys.argv[1]])
print(json.dumps([status, sorted(sys.modules)]))
"""
HEAVY = {
    "httpx", "cryptography", "fastapi", "sqlalchemy", "distributed", "scipy.stats", "scipy.optimize",
}  # fmt: skip
UNASKED = {
    "msgspec", "numpy.ma.core", "numpy.polynomial.polynomial", "service.api.parsing.faults",
    "service.domain.comparison.records", "service.domain.comparison.weighing",
    "service.domain.plans.importing.imports", "service.kernels.planning.simulated_pairs",
    "service.kernels.randomization.sign_flip", "service.stats.shared.data.pairs",
    "service.stats.shared.declaring.simulated", "service.stats.shared.methods.bounded",
    "service.stats.shared.methods.one_mean_in_plans",
}  # fmt: skip
"""What plans, comparisons, tables of clusters, JSON and refusals need."""


def test_a_test_of_counts_loads_no_more_than_it_needs(tmp_path, monkeypatch):
    for name in ("FORELOCK_URL", "FORELOCK_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    body = tmp_path / "counts.json"
    body.write_text('{"both_correct": 9, "only_baseline": 1, "only_candidate": 7, "both_wrong": 4}')
    ran = subprocess.run([sys.executable, "-c", PROBE, str(body)], capture_output=True, text=True, check=True)
    status, modules = json.loads(ran.stdout.splitlines()[-1])
    assert status == 0
    assert not HEAVY & set(modules)
    families = {name for name in modules if name.startswith("service.stats.") and name.count(".") == 2}
    assert families == {"service.stats.shared", "service.stats.mcnemar"}


def test_every_test_stands_in_the_module_of_its_name():
    for test in registry.every():
        module = f"service.stats.{test.name.replace('-', '_')}"
        assert f"{test.compute.__module__}.".startswith(f"{module}.")


def test_what_the_service_asks_for_is_what_the_tests_say_they_serve():
    said = {(service, test.name) for test in registry.latest().values() for service in test.serves}
    assert said == set(registry.SERVED_BY.items())


def test_a_score_and_a_gate_leave_parts_unloaded_that_scipy_takes_up_by_name(tmp_path, monkeypatch):
    for name in ("FORELOCK_URL", "FORELOCK_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    table = tmp_path / "one.csv"
    table.write_text("item_id,value\n" + "".join(f"i{at},{at % 2}\n" for at in range(20)))
    other = tmp_path / "other.csv"
    other.write_text("item_id,value\n" + "".join(f"i{at},{at % 3 % 2}\n" for at in range(20)))
    probe = PROBE.replace(
        'cli.main(["run", "mcnemar", sys.argv[1]])',
        '[cli.main(["score", sys.argv[1]]), cli.main(["gate", *sys.argv[1:]])]',
    )
    ran = subprocess.run(
        [sys.executable, "-c", probe, str(table), str(other)], capture_output=True, text=True, check=True
    )
    status, modules = json.loads(ran.stdout.splitlines()[-1])
    assert status[0] == 0
    assert not (HEAVY | {"numpy.f2py.crackfortran", "unittest.case", "yaml"}) & set(modules)


def test_a_score_of_a_table_loads_nothing_of_other_formats_and_questions(tmp_path, monkeypatch):
    for name in ("FORELOCK_URL", "FORELOCK_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    table = tmp_path / "one.csv"
    table.write_text("item_id,value\n" + "".join(f"i{at},{at % 2}\n" for at in range(20)))
    probe = PROBE.replace('"run", "mcnemar"', '"score"')
    ran = subprocess.run(
        [sys.executable, "-c", probe, str(table)], capture_output=True, text=True, check=True
    )
    status, modules = json.loads(ran.stdout.splitlines()[-1])
    assert status == 0
    assert not UNASKED & set(modules)
    readers = {f"service.ingest.harnesses.{name}" for name in registry_of_harnesses.MODULES.values()}
    assert readers & set(modules) == {"service.ingest.harnesses.tables"}


def test_a_command_is_not_searched_for_garbage_while_it_loads(tmp_path, monkeypatch):
    for name in ("FORELOCK_URL", "FORELOCK_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    table = tmp_path / "one.csv"
    table.write_text("item_id,value\ni1,1\ni2,0\ni3,1\n")
    probe = """
import gc, sys
from forelock import cli
before = [generation["collections"] for generation in gc.get_stats()]
cli.main()
assert [generation["collections"] for generation in gc.get_stats()] == before
"""
    subprocess.run([sys.executable, "-c", probe, "score", str(table)], capture_output=True, check=True)


def test_what_was_put_off_is_whole_once_somebody_looks():
    probe = """
from service.offline.lean import put_off
put_off()
import sys
import numpy
import scipy.special
assert "numpy.f2py.crackfortran" not in sys.modules
numpy.testing.assert_allclose(scipy.special.erf(0.0), 0.0)
assert callable(numpy.f2py.main) and "numpy.f2py.crackfortran" in sys.modules
put_off()
"""
    subprocess.run([sys.executable, "-c", probe], check=True)
