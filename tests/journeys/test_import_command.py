"""`forelock import` and `forelock plan from`: from two files of yesterday to a locked plan, and on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from forelock import cli
from tests.ingest.truth import folder, truth

from .conftest import Service
from .killed import Killed, dies

pytestmark = pytest.mark.any_database

Run = Callable[..., int]
BASELINE, CANDIDATE = (str(folder("inspect") / f"{arm}.eval") for arm in ("baseline", "candidate"))


@pytest.fixture
def forelock(service: Service, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command; it dies with its request `dies_at`, before the service got it or before the answer came."""

    def run(*arguments: str, dies_at: int = 0, answered: bool = False) -> int:
        dies(monkeypatch, service, at=dies_at, answered=answered)
        return cli.main(arguments)

    return run


@pytest.fixture
def locked_plan(forelock: Run, tmp_path: Path, monkeypatch, capsys) -> str:
    """A plan that `plan from` drafted, locked as it stands."""
    monkeypatch.chdir(tmp_path)
    assert forelock("plan", "from", BASELINE, CANDIDATE) == 0
    assert forelock("plan", "create", "plan.json", "--items", "items=plan.items.csv") == 0
    prereg_id = capsys.readouterr().out.split()[-1]
    assert forelock("plan", "lock", prereg_id, "--acknowledge", "all") == 0, capsys.readouterr().err
    return prereg_id


def test_cards_of_the_drafted_plan_say_what_the_files_do(forelock: Run, locked_plan: str, capsys) -> None:
    plan = json.loads(Path("plan.json").read_text("utf-8"))
    said = {"model": {"name": "mockllm/model"}, "harness": {"name": "inspect_ai", "version": "0.3.285"}}
    assert plan["arms"] == [
        {"id": arm, **said, "more": {"task_version": "1.2"}} for arm in ("baseline", "candidate")
    ]
    assert forelock("import", locked_plan, BASELINE) == 0
    assert "not the system" not in capsys.readouterr().out


def stored(service: Service, prereg_id: str):
    service.run_jobs()
    found = service.client.get(f"/v1/preregistrations/{prereg_id}/results", params={"limit": 200}).json()
    return {
        (row["item_id"], row["arm"], row["replicate"]): (row["value"], row["status"])
        for row in found["items"]
    }


def wanted():
    rows = {}
    for arm in ("baseline", "candidate"):
        there, absent = truth("inspect", f"{arm}.eval", arm, "match")
        rows |= {place: row[:2] for place, row in (there | absent).items()}
    return rows


def test_power_of_the_drafted_plan_is_told_from_its_pilot(
    forelock: Run, tmp_path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    forelock("plan", "from", BASELINE, CANDIDATE)
    told = "plan", "power", "plan.json", "--items", "items=plan.items.csv", "--pilot", "plan.pilot.csv"
    assert forelock(*told) == 0
    assert "H1" in capsys.readouterr().out


def test_a_drafted_plan_pins_the_content_of_items_and_files_are_held_against_it(
    forelock: Run, locked_plan: str, capsys
) -> None:
    items = Path("plan.items.csv").read_text("utf-8").splitlines()
    assert items[0].split(",")[-1] == "content_sha256"
    assert all(len(line.rpartition(",")[2]) == 64 for line in items[1:])
    check = "import", "--check", "plan.json", BASELINE, "--items"
    assert forelock(*check, "plan.items.csv") == 0
    assert "content" not in capsys.readouterr().out
    others = [f"{line[:-64]}{'0' * 64}" if n == 2 else line for n, line in enumerate(items)]
    Path("other.csv").write_text("\n".join(others) + "\n", encoding="utf-8")
    assert forelock(*check, "other.csv") == 1
    said = capsys.readouterr().out
    assert (
        f"not_comparable: 1 items are of other content than the plan pins: {items[2].split(',')[0]}" in said
    )
    assert forelock(*check, "other.csv", "--allow-different", "content") == 0
    assert "as allowed" in capsys.readouterr().out
    assert forelock("plan", "create", "plan.json", "--items", "items=other.csv") == 0
    other = capsys.readouterr().out.split()[-1]
    assert forelock("plan", "lock", other, "--acknowledge", "all") == 0
    assert forelock("import", other, BASELINE) == 1
    assert "allow_different=content" in capsys.readouterr().err
    assert forelock("import", other, BASELINE, "--allow-different", "content") == 0
    assert "1 of other content than the plan pins" in capsys.readouterr().out


def test_a_plan_from_runs_of_other_items_pins_nothing_and_says_so(
    forelock: Run, tmp_path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, word in (("old", "a"), ("new", "b")):
        rows = "".join(f"q{at},{at % 2},what is {at if at else word}\n" for at in range(12))
        Path(f"{name}.csv").write_text(f"item_id,value,question\n{rows}")
    assert forelock("plan", "from", "old.csv", "new.csv") == 0
    told = " ".join(capsys.readouterr().err.split())
    assert "1 items have other content in the two files under the same id" in told
    assert "q0" in told
    assert "content_sha256" not in Path("plan.items.csv").read_text()


def tables(place: Path) -> tuple[str, str]:
    """Two CSV files of somebody's own: the baseline's and the candidate's."""
    for name, every in (("old", 3), ("new", 2)):
        rows = "".join(f"q{at},{int(at % every == 0)}\n" for at in range(12))
        (place / f"{name}.csv").write_text(f"item_id,value\n{rows}")
    return str(place / "old.csv"), str(place / "new.csv")


def test_two_tables_of_right_and_wrong_are_a_plan_on_accuracy(forelock: Run, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert forelock("plan", "from", *tables(tmp_path)) == 0
    plan = json.loads(Path("plan.json").read_text())
    assert [each["id"] for each in plan["endpoints"]] == ["accuracy"]
    assert plan["populations"][0]["n"] == 12


@pytest.mark.parametrize(
    ("header", "brings"),
    [
        ("item_id,value", "takes two arms, and holds one: own.csv; name two files, the baseline's first"),
        ("question,old,new", "add --arms old,new"),
    ],
)
def test_one_table_that_names_no_arm_is_told_what_to_bring(
    forelock: Run, tmp_path, monkeypatch, capsys, header: str, brings: str
) -> None:
    monkeypatch.chdir(tmp_path)
    row = "q1,1" if header.count(",") == 1 else "q1,1,0"
    Path("own.csv").write_text(f"{header}\n{row}\n")
    assert forelock("plan", "from", "own.csv") == 2
    assert brings in " ".join(capsys.readouterr().err.split())
    assert not Path("plan.json").exists()


def wide(header: str = "question,old,new") -> str:
    return f"{header}\n" + "".join(f"q{at},{int(at % 3 > 0)},{int(at % 4 > 0)}\n" for at in range(24))


def test_a_table_with_a_column_for_each_system_is_a_plan_with_items_and_a_pilot(
    forelock: Run, tmp_path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own.csv").write_text(wide())
    assert forelock("plan", "from", "own.csv", "--arms", "old,new") == 0
    assert "the plan has no import section" in " ".join(capsys.readouterr().err.split())
    plan = json.loads(Path("plan.json").read_text("utf-8"))
    assert "import" not in plan
    (hypothesis,) = plan["hypotheses"]
    assert (hypothesis["baseline"], hypothesis["candidate"]) == ("old", "new")
    assert (plan["populations"][0]["n"], plan["endpoints"][0]["id"]) == (24, "accuracy")
    assert [line.split(",")[0] for line in Path("plan.items.csv").read_text().splitlines()[:2]] == [
        "item_id",
        "q0",
    ]
    assert Path("plan.pilot.csv").read_text().splitlines()[:2] == ["baseline,candidate", "0.0,0.0"]
    assert forelock("plan", "create", "plan.json", "--items", "items=plan.items.csv") == 0


def test_a_plan_is_drafted_of_files_that_are_read_as_the_gate_reads_them(
    forelock: Run, tmp_path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"q{at},{arm},{at % every}\n" for arm, every in (("甲", 2), ("乙", 3)) for at in range(12))
    Path("own.csv").write_text(f"题目,模型,得分\n{rows}", "utf-16")
    assert forelock("plan", "from", "own.csv", "--out", "chinese.json") == 0
    section = json.loads(Path("chinese.json").read_text("utf-8"))["import"]
    assert section == {
        "format": "csv", "item_id": "题目", "arm": "模型", "metric": "得分",
        "arms": {"甲": "baseline", "乙": "candidate"},
    }  # fmt: skip
    assert forelock("import", "--check", "chinese.json", "own.csv") == 0
    old, _ = tables(tmp_path)
    Path("new.jsonl").write_text("".join(f'{{"item_id": "q{at}", "value": 1}}\n' for at in range(12)))
    capsys.readouterr()
    assert forelock("plan", "from", old, "new.jsonl", "--out", "mixed.json") == 0
    assert "files of ndjson are not imported by it" in " ".join(capsys.readouterr().err.split())


def test_words_and_measures_are_said_as_to_the_questions_and_no_guess_is_drafted(
    forelock: Run, tmp_path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, every in (("old", 3), ("new", 2)):
        rows = "".join(f"q{at},{('bad', 'good')[at % every == 0]},{at}\n" for at in range(12))
        Path(f"{name}.csv").write_text(f"item_id,verdict,seconds\n{rows}")
    assert forelock("plan", "from", "old.csv", "new.csv", "--metric", "verdict") == 2
    told = " ".join(capsys.readouterr().err.split())
    assert """add --set 'values={"good": 1, "bad": 0}' (if good is right)""" in told
    said = "--metric", "verdict", "--set", 'values={"bad": 0, "good": 1}'
    assert forelock("plan", "from", "old.csv", "new.csv", *said) == 0
    assert json.loads(Path("plan.json").read_text("utf-8"))["import"]["values"] == {"bad": 0, "good": 1}
    less = "--metric", "seconds", "--lower", "--out", "less.json"
    assert forelock("plan", "from", "old.csv", "new.csv", *less) == 0
    plan = json.loads(Path("less.json").read_text("utf-8"))
    assert plan["endpoints"][0]["better"] == "lower"
    assert plan["hypotheses"][0]["rule"].startswith("delta < 0")


@pytest.mark.parametrize("answered", [False, True])
@pytest.mark.parametrize("dies_at", [1, 2])
def test_import_that_is_killed_and_run_again_loses_and_doubles_nothing(
    service: Service, forelock: Run, locked_plan: str, dies_at: int, answered: bool
) -> None:
    command = "import", locked_plan, "--complete", BASELINE, CANDIDATE
    with pytest.raises(Killed):
        forelock(*command, dies_at=dies_at, answered=answered)
    assert forelock(*command) == 0
    assert stored(service, locked_plan) == wanted()


def test_report_of_an_import_counts_rows_and_names_ids(forelock: Run, locked_plan: str, capsys) -> None:
    capsys.readouterr()
    assert forelock("import", locked_plan, CANDIDATE) == 0
    said = capsys.readouterr().out
    assert "candidate / match: 94 of 94 rows stored, 2 not in the file (item-044)" in said
    assert "94 of 192 results are in (collecting)" in said


def test_report_of_a_complete_import_does_not_count_missing_rows_as_the_files(
    forelock: Run, locked_plan: str, capsys
) -> None:
    capsys.readouterr()
    assert forelock("import", locked_plan, "--complete", CANDIDATE) == 0
    said = capsys.readouterr().out
    assert "candidate / match: 96 rows stored (the file has 94), 2 not in the file (item-044)" in said


def test_replicates_are_not_told_as_clusters(forelock: Run, tmp_path: Path, capsys) -> None:
    plan = tmp_path / "plan.json"
    plan.write_text("{}")
    assert forelock("import", "--check", str(plan), BASELINE) == 0
    said = capsys.readouterr().out
    assert "clusters: metadata.topic (8)" in said
    assert "clusters: epoch" not in said


def test_check_says_what_an_import_would_be_refused_for(forelock: Run, tmp_path: Path, capsys) -> None:
    plan = tmp_path / "plan.json"
    limited = str(folder("inspect") / "candidate_limit.eval")
    plan.write_text('{"import": {"format": "inspect", "scorer": "match"}}')
    assert forelock("import", "--check", str(plan), limited, "--arm", "candidate") == 1
    assert "import.limit: 6 samples were stopped at a limit" in capsys.readouterr().out
    plan.write_text("{}")
    assert forelock("import", "--check", str(plan), limited) == 0
    section = json.loads("{" + capsys.readouterr().out.partition("\n\n")[2].rpartition("\npaste")[0] + "}")
    plan.write_text(json.dumps(section))
    assert forelock("import", "--check", str(plan), limited, "--arm", "candidate") == 0


def test_check_by_the_service_says_the_same_as_here(
    forelock: Run, tmp_path: Path, monkeypatch, capsys
) -> None:
    from forelock import reading

    plan = tmp_path / "plan.json"
    plan.write_text('{"import": {"format": "mlflow", "metric": "grade", "item_id": "inputs.item_id"}}')
    files = [str(folder("mlflow") / f"baseline_{name}.json") for name in ("run", "traces_1", "traces_2")]
    command = "import", "--check", str(plan), *files, "--arm", "baseline", "--json"
    here = forelock(*command), json.loads(capsys.readouterr().out)
    monkeypatch.setattr(reading, "offers", lambda _group: [])
    there = forelock(*command), json.loads(capsys.readouterr().out)
    assert here == there
    assert here[1][0]["problem"]["errors"][0]["path"] == "import.values"


@pytest.mark.parametrize(
    ("files", "options"),
    [
        ((folder("lm-eval") / "gsm_baseline", folder("lm-eval") / "gsm_candidate"), ("--arm", "A")),
        ((folder("promptfoo") / "two_providers.results.jsonl",), ()),
    ],
)
def test_files_of_other_harnesses_are_held_against_the_contents_that_a_plan_pins(
    forelock: Run, tmp_path, monkeypatch, capsys, files, options
) -> None:
    monkeypatch.chdir(tmp_path)
    assert forelock("plan", "from", *map(str, files)) == 0
    pinned = Path("plan.items.csv").read_text("utf-8").splitlines()
    Path("other.csv").write_text("\n".join([*pinned[:2], f"{pinned[2][:-64]}{'0' * 64}", *pinned[3:]]) + "\n")
    bare = [line.rpartition(",")[0] for line in pinned]
    Path("bare.csv").write_text("\n".join(bare) + "\n", encoding="utf-8")
    check = "import", "--check", "plan.json", str(files[0]), *options, "--items"
    for items in ("plan.items.csv", "bare.csv"):
        capsys.readouterr()
        assert forelock(*check, items) == 0
        assert "content" not in capsys.readouterr().out
    assert forelock(*check, "other.csv") == 1
    assert (
        f"1 items are of other content than the plan pins: {bare[2].split(',')[0]}" in capsys.readouterr().out
    )
    assert forelock(*check, "other.csv", "--allow-different", "content") == 0
