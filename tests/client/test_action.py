"""The action of code hosts: what it runs, with stand-ins for `forelock` and `gh` that write down their calls."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
STAND_IN = """#!{python}
import json, os, pathlib, sys
name, arguments = pathlib.Path(sys.argv[0]).name, sys.argv[1:]
with open(os.environ["CALLS"], "a") as calls:
    calls.write(json.dumps([name, *arguments]) + "\\n")
if name == "forelock" and arguments[0] == "wait":
    pathlib.Path(arguments[arguments.index("--markdown") + 1]).write_text("<!-- forelock p1 -->\\n### verdict\\n")
    sys.exit(12)
if name == "gh" and "--paginate" in arguments:
    sys.stdout.write(os.environ.get("FOUND", ""))
"""


@pytest.fixture
def act(tmp_path):
    """Run the action's script; answers its status, the calls, the summary and the outputs."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("forelock", "gh"):
        (programs / name).write_text(STAND_IN.format(python=sys.executable))
        (programs / name).chmod(0o755)

    def run(**inputs: str):
        (tmp_path / "calls").write_text("")
        for name in ("summary", "outputs"):
            (tmp_path / name).write_text("")
        ran = subprocess.run(
            ["sh", str(ROOT / "client" / "action.sh")],
            cwd=tmp_path,
            env={
                "PATH": f"{programs}:{os.environ['PATH']}",
                "CALLS": str(tmp_path / "calls"),
                "RUNNER_TEMP": str(tmp_path),
                "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
                "GITHUB_OUTPUT": str(tmp_path / "outputs"),
                "GITHUB_REPOSITORY": "o/r",
                "RECORD": "p1",
                **inputs,
            },
            capture_output=True,
            text=True,
            timeout=60,
        )
        calls = [json.loads(line) for line in (tmp_path / "calls").read_text().splitlines()]
        return ran.returncode, calls, (tmp_path / "summary").read_text(), (tmp_path / "outputs").read_text()

    return run


def test_files_are_posted_and_the_verdict_is_the_status(act, tmp_path) -> None:
    (tmp_path / "a b.csv").touch()
    (tmp_path / "c.csv").touch()
    status, calls, summary, outputs = act(
        RESULTS="a b.csv\nc.csv\n",
        IMPORTS="x.eval",
        ARM="B; exit 0",
        ENDPOINT="hit",
        COMPLETE="true",
        TIMEOUT="5",
    )
    assert status == 12
    assert calls[0] == [
        "forelock",
        "submit",
        "--arm",
        "B; exit 0",
        "--endpoint",
        "hit",
        "p1",
        "a b.csv",
        "c.csv",
    ]
    assert calls[1] == ["forelock", "import", "--arm", "B; exit 0", "--complete", "p1", "x.eval"]
    assert calls[2][:5] == ["forelock", "wait", "p1", "--timeout", "5"]
    assert len(calls) == 3
    assert "### verdict" in summary
    assert "status=12\n" in outputs


@pytest.mark.parametrize(("found", "method"), [("", "POST"), ("7\n9\n", "PATCH")])
def test_one_comment_is_kept(act, found, method) -> None:
    status, calls, *_ = act(COMMENT="true", PULL_REQUEST="3", FOUND=found)
    assert status == 12
    *_, asked, written = calls
    assert "repos/o/r/issues/3/comments" in asked
    where = "repos/o/r/issues/3/comments" if method == "POST" else "repos/o/r/issues/comments/7"
    assert written[1:6] == ["api", "--silent", "--method", method, where]


def test_job_whose_rows_are_not_the_last_only_posts(act) -> None:
    status, calls, summary, _ = act(RESULTS="c.csv", WAIT="false")
    assert (status, [call[1] for call in calls], summary) == (0, ["submit"], "")


def test_every_input_reaches_the_script() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    (step,) = action["runs"]["steps"]
    told = " ".join(step["env"].values())
    assert set(re.findall(r"inputs\.([\w-]+)", told)) == set(action["inputs"])
    read = set(re.findall(r"\$\{?([A-Z][A-Z_]+)", (ROOT / "client" / "action.sh").read_text()))
    assert set(step["env"]) - {"FORELOCK_URL", "FORELOCK_API_KEY", "GH_TOKEN"} <= read
    assert "${{" not in step["run"]
