"""The commands of every page run: a page is one session of a shell, on a desk with the files that its text speaks of.

Quick here are the pages a newcomer reads first and the examples of the statistical tests; the others are slow.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from forelock import cli
from tests.command_pages import ELSEWHERE, PAGES
from tests.desk import CURL, run
from tests.drawing import mostly_slow
from tests.journeys.plans import LABELLED, items, small_plan
from tests.pages import ROOT, blocks, shell_lines

pytestmark = pytest.mark.xdist_group("desk")  # one service for all
INSPECT = ROOT / "tests" / "ingest" / "files" / "inspect" / "0.3.285"
TESTS = sorted(name for name in PAGES if name.startswith("docs/tests/") and shell_lines(name))
WHOLE = {"docs/quickstart.md"}
"""Pages of which tests/test_docs.py runs every block, and compares what it prints."""


def is_elsewhere(line: str) -> bool:
    return line.startswith(tuple(ELSEWHERE))


def script_of(name: str, **named: str) -> str:
    """A page's commands, words in capitals replaced; an outcome that is no success is a status from 10 on."""
    lines = [line for line in shell_lines(name) if not is_elsewhere(line)]
    lines = [re.sub(r"\s+#.*", "", line) for line in lines]
    text = "\n".join(f"{line} || [ $? -ge 10 ]" if "forelock" in line.split() else line for line in lines)
    return re.sub(r"(?<![\w$])[A-Z]{2,}(?!\w)", lambda found: named.get(found[0], found[0]), text)


@pytest.fixture(scope="session")
def record(desk: Path) -> str:
    """A record with its verdict, by its id, and what pages call their files."""
    (desk / "commands.json").write_text(json.dumps(small_plan(20) | {"title": "Commands of the pages"}))
    (desk / "commands.csv").write_text("\n".join(["item_id", *items(20)]) + "\n")
    outcomes = [f"{each},{arm},{at}" for each in items(20) for at, arm in enumerate("AB")]
    (desk / "outcomes.csv").write_text("\n".join(["item_id,arm,value", *outcomes]) + "\n")
    pilot = [f"{int(k % 3 > 0)},{int(k % 4 > 0)}" for k in range(60)]
    (desk / "pilot.csv").write_text("\n".join(["baseline,candidate", *pilot]) + "\n")
    made = run(
        desk,
        KEYED + 'ID=$(forelock plan create commands.json --items p=commands.csv); forelock plan lock "$ID" '
        '--acknowledge all; forelock submit "$ID" outcomes.csv --endpoint accuracy; '
        'forelock verdict "$ID" --wait || [ $? -ge 10 ]; printf "\\n%s" "$ID"',
    )
    return made.rpartition("\n")[2]


KEYED = 'export FORELOCK_API_KEY="$(cat .forelock/admin.key)"\n'


ON_EXAMPLES = {
    "docs/README.md": 1,
    "docs/questions.md": 7,
    "docs/gate.md": 1,
    "docs/score.md": 2,
    "docs/resolution.md": 2,
    "docs/ranking.md": 3,
    "docs/suites.md": 4,
}
"""Pages of commands on the files in examples/gate, and how many answers each shows at least."""
EVERY_ANSWER = {"docs/questions.md", "docs/resolution.md"}
"""Those of which every answer is compared with what is printed; of the others the first."""


@pytest.mark.parametrize(("page", "answers"), mostly_slow(ON_EXAMPLES.items(), quick=2))
def test_the_commands_on_the_examples_run_where_the_page_says(desk: Path, page: str, answers: int) -> None:
    for file in (ROOT / "examples" / "gate").iterdir():
        shutil.copy(file, desk / file.name)
    printed = run(desk, "unset FORELOCK_URL FORELOCK_API_KEY\n" + script_of(page))
    shown = [text for language, text in blocks(page) if language == "text"]
    for answer in shown if page in EVERY_ANSWER else shown[:1]:
        assert answer.split("\n\n")[0] in printed
    for picture in desk.glob("*-interval.svg"):
        assert picture.read_text("utf-8") == (ROOT / "docs" / "pictures" / picture.name).read_text("utf-8")
    assert printed.count("exploratory: no plan was locked before these data") >= answers


@pytest.mark.slow
def test_a_series_is_begun_and_read_as_its_page_says(desk: Path) -> None:
    for name in ("2027-01-01.csv", "2027-01-04.csv"):
        shutil.copy(ROOT / "examples" / "gate" / "words.csv", desk / name)
    for system in ("words", "bm25"):
        header, *rows = (ROOT / "examples" / "gate" / f"{system}.csv").read_text().splitlines()
        for number, part in enumerate((rows[:1500], rows[1500:]), start=1):
            (desk / f"{system}-{number}.csv").write_text("\n".join([header, *part]) + "\n")
    printed = run(desk, "unset FORELOCK_URL FORELOCK_API_KEY\n" + script_of("docs/series.md"))
    assert "Nothing is shown: 1 reference run" in printed
    assert "No drop is shown in 1 run" in printed
    assert (desk / "nightly.series.json").exists()
    assert "confidence sequence" in " ".join(printed.split())
    assert len(json.loads((desk / "words.look.json").read_text())["looks"]) == 2


def test_the_first_command_of_the_readme_runs_as_it_stands(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (line, *_) = shell_lines("README.md")
    for name in ("FORELOCK_URL", "FORELOCK_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(ROOT)
    program, command, *arguments = shlex.split(line)
    assert (program, command) == ("./do", "forelock")
    assert cli.main(arguments) in (0, 10, 12)
    assert capsys.readouterr().out.startswith("Cannot tell whether bm25.csv is ")


def test_the_example_of_every_statistical_test_runs(
    desk: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """This process stands for the shell: the commands are two, and starting Python seventy times is slow."""
    monkeypatch.chdir(desk)
    url, key = (desk / "url").read_text(), (desk / ".forelock" / "admin.key").read_text().strip()
    monkeypatch.setenv("FORELOCK_URL", url)
    monkeypatch.setenv("FORELOCK_API_KEY", key)
    curl = compile(CURL, "curl", "exec")
    for name in TESTS:
        (request, *_) = (text for language, text in blocks(name) if language == "json")
        (desk / "request.json").write_text(request)
        for line in shell_lines(name):
            words = shlex.split(line.replace("http://127.0.0.1:8321", url), comments=True)
            words = [word.replace("$FORELOCK_API_KEY", key) for word in words]
            if words[0] == "forelock":
                assert cli.main(words[1:]) == 0, (line, capsys.readouterr())
            else:
                assert words[0] == "curl"
                monkeypatch.setattr(sys, "argv", words)
                with pytest.raises(SystemExit) as ended:
                    exec(curl, {"__name__": "curl"})  # the desk's own curl
                assert ended.value.code == 0, (line, capsys.readouterr())


def charts(desk: Path, record: str) -> str:
    for here, there in {"words": "old", "bm25": "new"}.items():
        shutil.copy(ROOT / "examples" / "gate" / f"{here}.csv", desk / f"{there}.csv")
    return 'KEY="$FORELOCK_API_KEY"\n' + script_of("docs/charts.md", ID=record)


def sharing(_desk: Path, record: str) -> str:
    return f'URL=$FORELOCK_URL ID={record} KEY="$FORELOCK_API_KEY"\n' + script_of("docs/sharing.md")


def power(_desk: Path, record: str) -> str:
    return f"ID={record}\n" + script_of("docs/power-of-a-rule.md")


def by_id(name: str) -> Callable[[Path, str], str]:
    return lambda _desk, record: script_of(name, ID=record)


def bundle(_desk: Path, record: str) -> str:
    """A bundle is never replaced."""
    return "rm -f parts.zip\n" + script_of("docs/bundle.md", ID=record)


def verifying(_desk: Path, record: str) -> str:
    """A bundle is never replaced, so that each goes to a place of its own; KEY is what `ledger status` prints."""
    lines = script_of("docs/verifying.md", ID=record).splitlines()
    again = [f"rm -f {record}.zip\n{line}" if line.startswith("forelock bundle") else line for line in lines]
    text = "\n".join(again)
    return "KEY=$(forelock ledger status | sed -n 's/^signer 1 *//p' | head -n 1)\n" + text.replace(
        "--key KEY", '--key "$KEY"'
    )


def deployment(_desk: Path, _record: str) -> str:
    """Coverage is rebuilt of a record that still collects."""
    created = "ID=$(forelock plan create commands.json --items p=commands.csv)"
    locked = f'{created}\nforelock plan lock "$ID" --acknowledge all\n'
    return locked + script_of("docs/deployment.md", ID="$ID")


def operations(desk: Path, _record: str) -> str:
    places = {"BACKUP": "backup", "KEYS_BACKUP": "keys-backup", "NEW": "new"}
    for place in places.values():
        shutil.rmtree(desk / place, ignore_errors=True)
        (desk / place).mkdir()
    named = "".join(f"{name}={place}\n" for name, place in places.items())
    named += "export FORELOCK_ARTEFACTS=directory\n"
    return f"{named}DIR=.forelock\nrmdir new\n" + script_of("docs/operations.md", DIR="fresh")


def hooks(_desk: Path, _record: str) -> str:
    spool = [line for line in script_of("docs/hooks.md").splitlines() if "spool" in line]
    assert len(spool) == 2
    return "\n".join(spool)


def locked_plan(desk: Path, name: str, **changes: Any) -> str:
    """The commands that lock a plan of its own for a page, whose record is $ID."""
    (desk / f"{name}.json").write_text(json.dumps(small_plan(60, **changes)))
    (desk / f"{name}.csv").write_text("\n".join(["item_id", *items(60)]) + "\n")
    created = f"ID=$(forelock plan create {name}.json --items p={name}.csv)"
    return f'{created}\nforelock plan lock "$ID" --acknowledge all\n'


def labels(desk: Path, _record: str) -> str:
    """People fill in the list between the two commands of the page."""
    fetched, posted = script_of("docs/labels.md", ID="$ID").splitlines()
    plan = locked_plan(desk, "labelled", missing="exclude_pair", endpoints=LABELLED)
    return "\n".join([plan, fetched, "sed -i '2,$s/,$/,1/' labels.csv; grep -q ',1$' labels.csv", posted])


def arms(desk: Path, _record: str) -> str:
    """The arm that a criterion stands for; its card is the page's."""
    named = next(text for _, text in blocks("docs/arms.md") if '"criterion"' in text)
    return locked_plan(desk, "tomorrow", arms=[json.loads(named)]) + script_of("docs/arms.md", ID="$ID")


def programs(desk: Path, _record: str) -> str:
    for file in ("words.csv", "bm25.csv"):
        shutil.copy(ROOT / "examples" / "gate" / file, desk / file)
    return script_of("docs/questions-for-programs.md")


def imports(desk: Path, _record: str) -> str:
    """The plan is locked between the commands of before and after."""
    for place, names in {"yesterday": ("base", "candidate"), "logs": ("last",)}.items():
        (desk / place).mkdir(exist_ok=True)
        for name in names:
            source = "baseline" if name == "base" else "candidate"
            shutil.copy(INSPECT / f"{source}.eval", desk / place / f"{name}.eval")
    for made in desk.glob("plan*"):
        made.unlink()
    draft, check, *after = script_of("docs/imports.md", ID="$ID").splitlines()
    created = "ID=$(forelock plan create plan.json --items items=plan.items.csv)"
    locked = f'{created}\nforelock plan lock "$ID" --acknowledge all'
    return "\n".join([draft, check, locked, *after])


def artefacts(desk: Path, _record: str) -> str:
    """Both arms of a record are imported, and it is judged, before the page begins."""
    shutil.rmtree(desk / "files", ignore_errors=True)
    for value, arm in enumerate("AB"):
        lines = [f"{each},{value}" for each in items(60)]
        (desk / f"kept-{arm}.csv").write_text("\n".join(["item_id,value", *lines]) + "\n")
    plan = locked_plan(desk, "kept", **{"import": {"format": "csv"}})
    imported = "".join(f'forelock import "$ID" kept-{arm}.csv --arm {arm}\n' for arm in "AB")
    judged = f'{imported}forelock verdict "$ID" --wait || [ $? -ge 10 ]\n'
    page = script_of("docs/artefacts.md", ID="$ID").replace("$DIR_OF_COPIES", "files")
    return f"export FORELOCK_ARTEFACTS=directory\n{plan}{judged}{page}"


def client(desk: Path, record: str) -> str:
    """What a record of its own has: its plan, and a file of results for each arm."""
    plan = small_plan(20)
    plan["hypotheses"][0] |= {"baseline": "C1", "candidate": "C3"}
    (desk / "plan.json").write_text(json.dumps(plan))
    for at, arm in enumerate(("C1", "C3")):
        rows = [{"arm": arm, "endpoint": "accuracy", "item_id": each, "value": at} for each in items(20)]
        (desk / f"{arm}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    text = script_of("client/README.md", ID="$ID")
    text = re.sub(r"^export FORELOCK_URL.*\n", "", text, flags=re.MULTILINE)
    text = text.replace(
        "forelock plan create plan.json", "ID=$(forelock plan create plan.json --items p=commands.csv)"
    )
    return f"rm -f bundle.zip; forelock bundle {record} --out bundle.zip\n{text}"


SESSIONS: dict[str, Callable[[Path, str], str]] = {
    "client/README.md": client,
    "docs/arms.md": arms,
    "docs/artefacts.md": artefacts,
    "docs/bundle.md": bundle,
    "docs/charts.md": charts,
    "docs/deployment.md": deployment,
    "docs/hooks.md": hooks,
    "docs/imports.md": imports,
    "docs/labels.md": labels,
    "docs/operations.md": operations,
    "docs/power-of-a-rule.md": power,
    "docs/questions-for-programs.md": programs,
    "docs/reference/files.md": by_id("docs/reference/files.md"),
    "docs/sharing.md": sharing,
    "docs/standards.md": by_id("docs/standards.md"),
    "docs/trackers.md": by_id("docs/trackers.md"),
    "docs/verifying.md": verifying,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(SESSIONS))
def test_the_commands_of_a_page_run(desk: Path, record: str, name: str) -> None:
    run(desk, KEYED + SESSIONS[name](desk, record))


def test_every_command_of_a_page_runs_or_says_why_it_cannot() -> None:
    """No page is left out, and nothing is excused that stands nowhere."""
    here = {"README.md", "docs/series.md", *ON_EXAMPLES, *TESTS, *SESSIONS, *WHOLE}
    lines = {name: [line for line in shell_lines(name) if not is_elsewhere(line)] for name in PAGES}
    assert {name for name in PAGES if lines[name] and name not in here} == set()
    every = [line for name in PAGES for line in shell_lines(name)]
    assert {begins for begins in ELSEWHERE if not any(line.startswith(begins) for line in every)} == set()
