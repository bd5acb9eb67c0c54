"""In a Chinese terminal no command on a plan and on results on their way in prints an English sentence."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from forelock import cli
from tests.web.chinese_house import in_chinese
from tests.web.visible import english_runs

from .conftest import Service
from .killed import dies
from .plans import items, small_plan

NAMES = {"a", "b", "p", "mcnemar", "accuracy"}
"""What the plan calls its things, and names of tests."""
N = 20


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
        prose = re.sub(r"`[^`]*`|forelock [^，；。]*", "", (told.out + told.err).replace(rule, ""))
        left.extend((arguments[:2], run) for run in english_runs(html.escape(prose), NAMES))
        return told.out

    yield run
    assert left == []


def test_every_command_of_a_record_is_chinese(terminal: Callable[..., str], tmp_path: Path) -> None:
    plan = in_chinese(small_plan(N))
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    (tmp_path / "items.csv").write_text("\n".join(["item_id", *items(N)]) + "\n")
    rows = [f"{item},{arm},{at}" for item in items(N) for at, arm in enumerate("AB")]
    (tmp_path / "rows.csv").write_text("\n".join(["item_id,arm,value", *rows]) + "\n")

    terminal("plan", "new", "template.json")
    terminal("plan", "power", "plan.json", "--items", "p=items.csv")
    record = terminal("plan", "create", "plan.json", "--items", "p=items.csv").split()[-1]
    for step in ("lint", "show"):
        terminal("plan", step, record)
    terminal("family", record)
    terminal("lock", record, "--acknowledge", "all")
    for command in (
        "progress",
        "batches",
        "runs",
        "family",
        "deviations",
        "receipts",
        "verdicts",
    ):
        terminal(command, *([] if command == "verdicts" else [record]))
    terminal("submit", record, "rows.csv", "--endpoint", "accuracy")
    terminal("plan", "list")
    terminal("links", "list", record)
