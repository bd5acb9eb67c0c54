"""What exists is described, and what is described exists; the README's examples run."""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import httpx
import pytest

from forelock import Client, cli
from service.api.http import problems
from service.config import Settings
from tests.journeys.plans import items, small_plan
from tests.pages import ROOT, blocks, page, shell_lines


def described(name: str) -> set[str]:
    """The terms a page's tables describe: what stands in backquotes in the first column."""
    return set(re.findall(r"^\| `([^`]+)`", page(name), re.MULTILINE))


@cache
def source() -> tuple[ast.AST, ...]:
    """Every node of the service's source."""
    files = sorted((ROOT / "service").rglob("*.py"))
    return tuple(node for path in files for node in ast.walk(ast.parse(path.read_text("utf-8"))))


def problem_codes() -> set[str]:
    """Every problem code the service spells out, whether as an argument or as an error's own."""
    position = {
        node.name: [argument.arg for argument in node.args.args].index("code")
        for node in source()
        if isinstance(node, ast.FunctionDef) and "code" in [argument.arg for argument in node.args.args]
    }
    found = {json.loads(bytes(problems.of_status(status).body))["code"] for status in (400, 404, 405, 499)}
    marks = {  # of a verdict: no problem of a request
        id(keyword)
        for node in source()
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Mark"
        for keyword in node.keywords
    }
    for node in source():
        for value in () if id(node) in marks else _values_of_code(node, position):
            choices = (value.body, value.orelse) if isinstance(value, ast.IfExp) else (value,)
            found |= {
                each.value
                for each in choices
                if isinstance(each, ast.Constant) and isinstance(each.value, str)
            }
    return {code for code in found if code == code.lower()}  # lint findings and warnings are UPPER_SNAKE


def _values_of_code(node: ast.AST, position: dict[str, int]) -> Iterator[ast.expr]:
    """What a node gives the name `code`: by keyword, by position, or by assignment."""
    if isinstance(node, ast.keyword) and node.arg == "code":
        yield node.value
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in position:
        yield from node.args[position[node.func.id] :][:1]
    elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == "code":
        if node.value is not None:
            yield node.value
    elif isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Name) and target.id == "code":
                yield node.value
            elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                named = zip(target.elts, node.value.elts, strict=True)
                yield from (
                    value for name, value in named if isinstance(name, ast.Name) and name.id == "code"
                )


def test_every_setting_is_described() -> None:
    exist = {f"FORELOCK_{name.upper()}" for name in Settings.model_fields}
    client = {f"FORELOCK_{name}" for name in ("URL", "API_KEY", "RECORD", "ARM", "SPOOL")}
    assert described("docs/settings.md") - client == exist


def test_the_defaults_of_settings_are_the_ones_described() -> None:
    for name, setting in Settings.model_fields.items():
        default = "unset" if setting.default is None else f"`{setting.default}`"
        assert f"\n| `FORELOCK_{name.upper()}` | {default} | " in page("docs/settings.md"), name


def test_every_problem_code_is_described() -> None:
    assert described("docs/errors.md") == problem_codes()


# --- the examples run ---


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A directory with a service that serves it, and the commands the pages use."""
    directory = tmp_path_factory.mktemp("desk")
    commands = directory / "bin"
    commands.mkdir()
    (commands / "forelock").symlink_to(Path(sys.executable).with_name("forelock"))
    (commands / "curl").write_text(CURL)
    (commands / "curl").chmod(0o755)
    (directory / "do").write_text('#!/bin/sh\nexec "$@"\n')
    (directory / "do").chmod(0o755)
    command = [str(commands / "forelock"), "serve", "--port", "0"]
    with (
        (directory / "serve.log").open("w") as log,
        subprocess.Popen(command, cwd=directory, stdout=subprocess.PIPE, stderr=log, text=True) as server,
    ):
        assert server.stdout is not None
        try:
            listening = (re.search(r"listens on (http://\S+)", line) for line in server.stdout)
            url = next((found[1] for found in listening if found), None)
            assert url, (directory / "serve.log").read_text()
            threading.Thread(
                target=server.stdout.read, daemon=True
            ).start()  # a full pipe would stop the server
            # The port is bound before the API answers on it: the first request waits in its queue.
            assert httpx.get(f"{url}/health/ready", timeout=120).status_code == 200
            (directory / "url").write_text(url)
            yield directory
        finally:
            server.terminate()


CURL = f"""#!{sys.executable}
# As much of curl as the pages use: URL, -s, -X METHOD, -H HEADER, -o FILE, -d BODY or -d @FILE.
import argparse, pathlib, sys, httpx
parser = argparse.ArgumentParser()
parser.add_argument("-s", action="store_true")
parser.add_argument("-H", action="append", default=[])
parser.add_argument("-d")
parser.add_argument("-o")
parser.add_argument("-X")
parser.add_argument("url")
options = parser.parse_args()
body = pathlib.Path(options.d[1:]).read_text() if (options.d or "").startswith("@") else options.d
headers = dict(header.split(": ", 1) for header in options.H)
method = options.X or ("POST" if body else "GET")
answer = httpx.request(method, options.url, content=body, headers=headers, timeout=60)
if options.o:
    pathlib.Path(options.o).write_bytes(answer.content)
else:
    print(answer.text)
sys.exit(0 if answer.is_success else 22)
"""


def run(desk: Path, script: str) -> str:
    """Run shell blocks of a page on the desk, against its service; returns what they print."""
    url = (desk / "url").read_text()
    environment = {**os.environ, "PATH": f"{desk / 'bin'}:{os.environ['PATH']}", "FORELOCK_URL": url}
    for name in ("FORELOCK_API_KEY", "COLUMNS"):
        environment.pop(name, None)
    ran = subprocess.run(
        ["sh", "-eu"],
        input=script.replace("http://127.0.0.1:8321", url),
        cwd=desk,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.xdist_group("desk")  # one service for all
def test_the_first_call_answers_as_the_readme_says(desk: Path) -> None:
    shown = blocks("README.md")
    (call, answer), (command, sentence) = (
        (shell, said)
        for (language, shell), (kind, said) in pairwise(shown)
        if language == "sh" and kind in ("json", "text")
    )
    assert_shows(json.loads(answer), json.loads(run(desk, call)))
    assert run(desk, command) == sentence


def assert_shows(shortened: object, whole: object) -> None:
    """Whatever the shortened answer shows stands in the whole one."""
    if isinstance(shortened, dict):
        assert isinstance(whole, dict)
        for name, value in shortened.items():
            assert_shows(value, whole[name])
    else:
        assert shortened == whole


@pytest.mark.xdist_group("desk")  # one service for all
def test_the_quickstart_ends_with_the_verdict_it_shows(desk: Path) -> None:
    """The shell blocks are one session; a line between marks off what each prints."""
    shown = blocks("docs/quickstart.md")
    scripts = [text for language, text in shown if language == "sh"]
    mark = "printf '\\n=====\\n'\n"
    ran = run(desk, mark.join(scripts))
    # Where the runner has worked before, the verdict may be there as soon as the last result is in.
    said = ran.replace("judged: 80 of 80", "complete: 80 of 80").split("\n=====\n")
    assert len(said) == len(scripts)
    expected = [
        (scripts.index(shell), text) for (language, shell), (kind, text) in pairwise(shown) if kind == "text"
    ]
    assert len(expected) == 3
    assert "begin{tabular}" in (desk / "report.tex").read_text("utf-8")
    assert (desk / "forest.pdf").read_bytes().startswith(b"%PDF")
    for number, text in expected:
        assert said[number] == text


@pytest.mark.xdist_group("desk")  # one service for all
@pytest.mark.slow
def test_commands_of_the_pages_run_on_a_record(  # one service, and this process in the place of a shell
    desk: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Those of a record in the shell, in the order of their pages; names on the pages stand for what is here."""
    plan = small_plan(20) | {"title": "Commands of the pages"}
    (desk / "commands.json").write_text(json.dumps(plan))
    (desk / "commands.csv").write_text("\n".join(["item_id", *items(20)]) + "\n")
    (desk / "counts.json").write_text(
        '{"both_correct": 9, "only_baseline": 1, "only_candidate": 7, "both_wrong": 4}'
    )
    rows = [
        "item_id,arm,value",
        *(f"q{k},{arm},{int(k % 3 > at)}" for k in range(40) for at, arm in enumerate("ab")),
    ]
    (desk / "results.csv").write_text("\n".join(rows) + "\n")
    pilot = ["baseline,candidate", *(f"{int(k % 3 > 0)},{int(k % 4 > 0)}" for k in range(60))]
    (desk / "pilot.csv").write_text("\n".join(pilot) + "\n")
    (desk / "request.json").write_text((desk / "counts.json").read_text())
    outcomes = [
        "item_id,arm,value",
        *(f"{each},{arm},{at}" for each in items(20) for at, arm in enumerate("AB")),
    ]
    (desk / "outcomes.csv").write_text("\n".join(outcomes) + "\n")
    monkeypatch.chdir(desk)
    monkeypatch.setenv("FORELOCK_URL", (desk / "url").read_text())
    monkeypatch.setenv("FORELOCK_API_KEY", (desk / ".forelock" / "admin.key").read_text().strip())
    assert cli.main(["plan", "create", "commands.json", "--items", "p=commands.csv", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)["id"]
    names = {"ID": record}
    lines = [
        "forelock plan lock ID --acknowledge all",
        "forelock submit ID outcomes.csv --endpoint accuracy",
        "forelock verdict ID --wait",
        *of("docs/gate.md", "rank", "resolve", "audit", "run"),
        *of("docs/tests/mcnemar.md", "run"),
        *of("docs/hooks.md", "spool"),
        *of("docs/trackers.md", "links"),
        *of("docs/verifying.md", "bundle", "checkpoint", "verify"),
        *of("docs/reference/files.md", "keys"),
    ]
    for line in lines:
        if "KEY" in line:
            with Client() as client:
                names["KEY"] = client.ledger_keys()[0]["vkey"]
        words = shlex.split(re.sub(r"\b(ID|KEY)\b", lambda name: names[name[0]], line), comments=True)
        if "--checkpoint" not in words or words[1] == "verify":  # the first bundle is there: none is replaced
            assert cli.main(words[1:]) == 0, (line, capsys.readouterr())
    assert (desk / f"{record}.zip").exists()
    assert (desk / "nightly.key").exists()
    (asked,) = [body for language, body in blocks("docs/sharing.md") if language == "sh"]
    head = f"URL=$FORELOCK_URL ID={record} KEY=$(cat .forelock/admin.key)\n"
    answers = run(desk, head + asked)
    assert '"visibility":"link"' in answers.replace(" ", "")
    assert '"path":"/shared/' in answers.replace(" ", "")


def of(page_name: str, *beginning: str) -> list[str]:
    """The lines of a page's blocks with these commands of `forelock`; there is one of each."""
    lines = [line for line in shell_lines(page_name) if line.startswith("forelock ")]
    found = [line for line in lines if line.split()[1] in beginning]
    assert {line.split()[1] for line in found} == set(beginning)
    return found


@pytest.mark.parametrize(
    "name",
    [
        "README.md",
        "CONTRIBUTING.md",
        *sorted(str(p.relative_to(ROOT)) for p in (ROOT / "docs").rglob("*.md") if p.parent.name != "words"),
    ],
)
def test_links_lead_somewhere(name: str) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page(name)):
        if "://" not in target:
            assert (ROOT / name).parent.joinpath(target).exists(), target
