"""One run's rows: kept at once, sent while it goes on and at its end, and told by counts."""

from __future__ import annotations

import ast
import re
import threading
from pathlib import Path

import pytest

from forelock.hooks import session as module
from forelock.hooks.session import Session, Target, require_number
from forelock.problem import FileFault
from forelock.spool import Head, Spool
from service.ingest.harnesses import inspect_logs, promptfoo
from tests.client.spool.conftest import Keeper

CLIENT = Path(__file__).resolve().parents[3] / "client"
HEAD = Head("results", {"arm": "A", "endpoint": "e"})
ROW = {"item_id": "a", "replicate": 1, "value": 0.25}


@pytest.fixture
def keeper() -> Keeper:
    return Keeper()


def begin(keeper: Keeper, tmp_path: Path, **more) -> tuple[Session, list[str]]:
    told: list[str] = []
    made = Session(Target("p1"), spool=Spool(tmp_path), client=keeper.client, tell=told.append, **more)
    return made, told


def test_target_is_what_the_environment_names() -> None:
    assert Target.of({}) is None
    assert Target.of({"FORELOCK_RECORD": "", "FORELOCK_ARM": "A"}) is None
    found = Target.of({"FORELOCK_RECORD": "p1", "FORELOCK_ARM": "A", "FORELOCK_POPULATION": ""})
    assert found is not None
    assert (found.record, found.query(endpoint="e")) == ("p1", {"arm": "A", "endpoint": "e"})


def test_rows_are_sent_while_the_run_goes_on(keeper, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(module, "INTERVAL", 0.001)
    arrived, take = threading.Event(), keeper._take

    def taken(request):
        answer = take(request)
        arrived.set()
        return answer

    keeper._take = taken
    made, told = begin(keeper, tmp_path)
    made.append("e", lambda: HEAD, ROW)
    assert arrived.wait(60)
    made.end()
    assert told == ["forelock: the rows of this run are with the service (p1)"]


def test_end_of_a_run_without_the_service_tells_where_rows_wait(keeper, tmp_path) -> None:
    keeper.away = True
    made, told = begin(keeper, tmp_path, live=False)
    made.append("e", lambda: HEAD, ROW)
    assert made.end().away
    assert told[0].startswith("forelock: http://s does not answer")
    assert told[1] == f"forelock: 1 rows wait in {tmp_path / 'p1'}; send them with: forelock spool send p1"
    assert "0.25" not in "".join(told)


def test_key_that_is_none_ends_no_run(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("FORELOCK_API_KEY", "two words")
    told: list[str] = []
    made = Session(Target("p1"), spool=Spool(tmp_path), tell=told.append, live=False)
    made.append("e", lambda: HEAD, ROW)
    made.end()
    assert "the API key holds characters that no key has" in told[0]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "1", None])
def test_value_that_is_no_number_is_refused_without_being_told(value) -> None:
    with pytest.raises(FileFault, match=r"^the value of 'a' is not a finite number$"):
        require_number(value, "the value of 'a'")


def test_hooks_keep_every_field_that_the_readers_read() -> None:
    source = (CLIENT / "forelock" / "hooks" / "inspect_ai.py").read_text()
    (large,) = re.findall(r"^LARGE = (\{.*?\})", source, re.DOTALL | re.MULTILINE)
    assert not ast.literal_eval(large) & inspect_logs._WANTED
    (listed,) = re.findall(
        r"^const FIELDS = \[(.*?)\]", (CLIENT / "promptfoo" / "forelock.mjs").read_text(), re.DOTALL | re.M
    )
    assert set(re.findall(r'"(\w+)"', listed)) == promptfoo._WANTED.names
