from __future__ import annotations

import csv
import importlib.util
import json
import platform
import re
import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "stdlib_retrieval"
POPULATIONS = ("one_per_module", "stdlib")


@pytest.fixture(scope="module")
def evaluation():
    """The evaluation script as a module."""
    spec = importlib.util.spec_from_file_location("stdlib_retrieval_run", FOLDER / "run.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.fixture(scope="module")
def plan():
    return json.loads((FOLDER / "plan.json").read_text("utf-8"))


def rows(population, name, folder=FOLDER):
    with (folder / population / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("population", POPULATIONS)
def test_the_plan_is_about_the_shipped_items(plan, population):
    (planned,) = [each for each in plan["populations"] if each["id"] == population]
    items = rows(population, "items")
    assert planned["n"] == len(items) == len({each["item_id"] for each in items})
    clusters = {each["cluster"] for each in items if "cluster" in each}
    assert (planned["clusters"] or {"n": 0})["n"] == len(clusters)
    assert [each["item_id"] for each in rows(population, "results")] == [each["item_id"] for each in items]


@pytest.mark.parametrize("population", POPULATIONS)
def test_shipped_results_are_ranks(population):
    for row in rows(population, "results"):
        for system in ("words", "char_ngrams", "bm25"):
            hit, score = row[f"{system}.hit"], float(row[f"{system}.reciprocal_rank"])
            assert hit == str(int(score == 1))
            assert 0 < score <= 1


def test_the_sample_agrees_with_the_whole():
    whole = {row["item_id"]: row for row in rows("stdlib", "results")}
    assert all(row == whole[row["item_id"]] for row in rows("one_per_module", "results"))


def test_what_is_shipped_is_small_and_only_names():
    assert sum(path.stat().st_size for path in FOLDER.rglob("*.*")) < 500_000
    for item in rows("stdlib", "items"):
        assert re.fullmatch(r"[A-Za-z0-9_.]+", item["item_id"])


def test_a_rerun_writes_the_same_files(evaluation, tmp_path):
    for run in ("a", "b"):
        evaluation.main(["--out", str(tmp_path / run), "--modules", "json", "textwrap", "csv", "logging"])
    for population in POPULATIONS:
        for name in ("items", "results"):
            first, second = (tmp_path / run / population / f"{name}.csv" for run in ("a", "b"))
            assert first.read_bytes() == second.read_bytes()
    found = {row["item_id"]: row["cluster"] for row in rows("stdlib", "items", tmp_path / "a")}
    assert found["logging.handlers.RotatingFileHandler.doRollover"] == "logging"
    assert found["textwrap.dedent"] == "textwrap"
    assert len(rows("one_per_module", "items", tmp_path / "a")) < len(found)


@pytest.mark.slow
def test_the_shipped_files_are_what_the_script_writes(evaluation, tmp_path):
    if platform.python_version() != "3.11.7":
        pytest.skip("the shipped results are those of CPython 3.11.7")
    evaluation.main(["--out", str(tmp_path)])
    for population in POPULATIONS:
        for name in ("items", "results"):
            written = (tmp_path / population / f"{name}.csv").read_bytes()
            assert written == (FOLDER / population / f"{name}.csv").read_bytes()


def test_documents_hold_no_docstring(evaluation, tmp_path):
    (tmp_path / "sample.py").write_text(
        "def shown(a):\n"
        '    """Only said here, outside."""\n'
        "    def inner():\n"
        '        """Only said there, inside."""\n'
        "    return inner  # remarked\n"
        "class Thing(dict):\n"
        '    """A thing of its own."""\n'
        "    def method(self):\n"
        '        """Does what things do."""\n'
        "    def _hidden(self):\n"
        '        """Is not looked for."""\n'
    )
    items = {item.item_id: item for item in evaluation.corpus(tmp_path, ["sample"])}
    assert list(items) == ["sample.Thing", "sample.Thing.method", "sample.shown"]
    assert items["sample.shown"].query == "Only said here, outside."
    text = " ".join(item.document for item in items.values())
    assert not re.search("said|remarked|things do|of its own", text)
    assert "return inner" in text
    assert "dict" in items["sample.Thing"].document


def test_objects_that_share_their_first_line_are_left_out(evaluation, tmp_path):
    (tmp_path / "sample.py").write_text(
        'def a():\n    """Do the same thing."""\n'
        'def b():\n    """do the same thing."""\n'
        'def c():\n    """Do another thing."""\n'
        'def d():\n    """Too short."""\n'
    )
    assert [item.item_id for item in evaluation.corpus(tmp_path, ["sample"])] == ["sample.c"]


def test_names_fall_into_words(evaluation):
    assert evaluation.words("HTTPServer do_GET parseURLs2") == [
        "http",
        "server",
        "do",
        "get",
        "parse",
        "ur",
        "ls",
    ]
    assert evaluation.char_ngrams("ab") == ["<ab", "ab>", "<ab>"]


def test_ties_count_against_the_right_object(evaluation):
    scores = np.array([[3.0, 1.0, 2.0], [0.5, 0.5, 0.1], [0.0, 0.0, 0.0]])
    assert evaluation.ranks(scores).tolist() == [1, 2, 3]


def test_tf_idf_is_the_cosine_of_weighted_counts(evaluation):
    item = evaluation.Item
    items = [item("a", "m", "red red blue", "red blue"), item("b", "m", "green", "green blue")]
    scores = evaluation.tf_idf_scores(items, evaluation.words)
    rare, common = np.log(3 / 2) + 1, 1.0
    query = np.array([(1 + np.log(2)) * rare, common])
    document = np.array([rare, common])
    expected = query @ document / np.linalg.norm(query) / np.linalg.norm(document)
    assert scores[0, 0] == pytest.approx(expected)
    assert scores[1, 0] == 0


def test_bm25_is_okapis_formula(evaluation):
    item = evaluation.Item
    items = [item("a", "m", "red", "red red blue"), item("b", "m", "blue", "green")]
    scores = evaluation.bm25_scores(items)
    idf = np.log(1 + 1.5 / 1.5)
    room = 1.2 * (0.25 + 0.75 * 3 / 2)
    assert scores[0, 0] == pytest.approx(idf * 2 * 2.2 / (2 + room))
    assert scores[0, 1] == 0
