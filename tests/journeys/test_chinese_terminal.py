"""In a Chinese terminal no command that prints to people prints an English sentence, done or refused."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from forelock import cli
from forelock.cli import NOUNS
from service.domain.access import SCOPES
from tests.ingest.truth import folder
from tests.web.chinese_house import FILING, in_chinese
from tests.web.visible import english_runs

from .conftest import Service
from .killed import dies
from .plans import items, small_plan

NAMES = {*SCOPES, "a", "b", "p", "mcnemar", "accuracy", "mann-whitney", "u", "test", "person"}
"""What the plan and a key are called, names of tests, scopes and kinds of keys."""
CODE = re.compile(
    r"`[^`]*`|forelock [^，；。]*|\d{4}-\d\d-\d\dT[\d:.]+Z|\b[0-9a-f]{12,}\b|[a-z]+(?:[.:][a-z]+)+|/[\w./-]+"
)
"""Commands, times, hashes, scopes and acts, and paths."""
N = 20
ELSEWHERE = {
    "gate", "rank", "score", "noise", "items", "resolve", "audit",  # tests/client/test_language.py asks each
    "import",  # needs files of harnesses
    "name-arm", "calibrate", "erase", "unblind", "withdraw", "close", "looks", "labels", "run-token", "void",
    "webhooks", "mlflow", "badge", "mcp", "completion", "export",  # a machine's words, or another side's
}  # fmt: skip
"""Commands that are not asked here, or are asked for a refusal alone."""


@pytest.fixture
def terminal(
    service: Service, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Iterator[Callable[..., str]]:
    """Run a command in a Chinese terminal, which returns what it printed; fails where an English sentence was in it."""
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    monkeypatch.chdir(tmp_path)
    rule = small_plan(N)["hypotheses"][0]["rule"]
    left: list[tuple[tuple[str, ...], str]] = []

    def run(*arguments: str) -> str:
        dies(monkeypatch, service, at=0, answered=False)
        cli.main(arguments)
        told = capsys.readouterr()
        prose = CODE.sub("", (told.out + told.err).replace(rule, ""))
        left.extend((arguments[:2], run) for run in english_runs(html.escape(prose), NAMES))
        return told.out

    yield run
    assert left == [], "\n".join(map(str, left))


def test_every_command_of_a_record_is_chinese(
    service: Service, terminal: Callable[..., str], tmp_path: Path
) -> None:
    plan = in_chinese(small_plan(N))
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    (tmp_path / "items.csv").write_text("\n".join(["item_id", *items(N)]) + "\n")
    rows = [f"{item},{arm},{at}" for item in items(N) for at, arm in enumerate("AB")]
    (tmp_path / "rows.csv").write_text("\n".join(["item_id,arm,value", *rows]) + "\n")
    (tmp_path / "deviation.json").write_text(json.dumps(FILING))
    asked: set[str] = set()

    def run(*arguments: str) -> str:
        asked.add(arguments[0])
        return terminal(*arguments)

    run("plan", "new", "template.json")
    run("plan", "power", "plan.json", "--items", "p=items.csv")
    record = run("plan", "create", "plan.json", "--items", "p=items.csv").split()[-1]
    for step in ("lint", "show"):
        run("plan", step, record)
    run("family", record)
    run("lock", record, "--acknowledge", "all")
    for command in (
        "progress",
        "batches",
        "runs",
        "family",
        "deviations",
        "receipts",
        "verdicts",
        "artefacts",
    ):
        run(command, *([] if command == "verdicts" else [record]))
    run("submit", record, "rows.csv", "--endpoint", "accuracy")
    service.run_jobs()
    run("wait", record, "--explain")
    run("verdict", record)
    for command in (
        "progress",
        "batches",
        "runs",
        "family",
        "deviations",
        "receipts",
        "artefacts",
        "multiverse",
    ):
        run(command, record)
    run("verdicts")
    run("plan", "list")
    run("report", record)
    run("chart", record, "--svg", "forest.svg")
    run("checkpoint", "kept")
    run("bundle", record)
    run("verify", f"{record}.zip")
    run("stamps", "save", record, "stamps")
    run("links", "list", record)
    run("keys", "list")
    run("log", "--limit", "5")
    run("spool", "status")
    run("tests")
    run("tests", "mcnemar")
    for refused in (
        ("lock", record),
        ("amend", record, "plan.json", "--reason", "x"),
        ("plan", "show", "none"),
        ("unblind", record, "--reason", "x"),
        ("unblind", record, "--reason", "x", "--yes"),
        ("close", record, "--deviation", "1", "--reason", "x"),
        ("void", record, "1", "--reason", "x"),
        ("mlflow", "show"),
        ("labels", record),
        ("looks", record),
        ("calibrate", record, "--runs", "10"),
    ):
        run(*refused)
    known = {name for names in NOUNS.values() for name in names}
    assert known - ELSEWHERE - {"run"} <= asked


def test_what_is_said_of_files_before_the_lock_is_chinese(
    terminal: Callable[..., str], tmp_path: Path
) -> None:
    log = str(folder("inspect") / "baseline.eval")
    terminal("plan", "from", log, str(folder("inspect") / "candidate.eval"))
    terminal("import", "--check", "plan.json", log, "--items", "plan.items.csv")
    lines = (tmp_path / "plan.items.csv").read_text().splitlines()
    other = [f"{line[:-64]}{'0' * 64}" if at == 2 else line for at, line in enumerate(lines)]
    (tmp_path / "other.csv").write_text("\n".join(other) + "\n")
    check = "import", "--check", "plan.json", log, "--items", "other.csv"
    terminal(*check)
    terminal(*check, "--allow-different", "content")
    (tmp_path / "bare.json").write_text("{}")
    assert '"import": ' in terminal("import", "--check", "bare.json", log)
    for name, word in (("old", "甲"), ("new", "乙")):
        rows = "".join(f"q{at},{at % 2},第 {at or word} 问\n" for at in range(12))
        (tmp_path / f"{name}.csv").write_text(f"item_id,value,question\n{rows}")
    terminal("plan", "from", "old.csv", "new.csv", "--out", "two.json")
