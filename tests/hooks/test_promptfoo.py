"""The file for promptfoo: its own tests by node, and the real promptfoo against a served service."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from .conftest import Desk, N, baseline, candidate, ids, post_baseline, received, rows

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "client" / "promptfoo"
VERSION = "0.123.1"
PROVIDER = """
import { execSync } from "node:child_process";

export default class {
  id() { return "mock"; }
  async callApi(prompt, { vars }) {
    if (vars.number === 5 && process.env.CALLS) execSync(process.env.CALLS);
    return { output: "yes" };
  }
}
"""
MAPPING = {"format": "promptfoo", "metric": "success", "item_id": "vars.item"}


def node() -> str:
    return shutil.which("node") or pytest.skip("node is not installed")


def test_the_package_by_its_own_tests() -> None:
    ran = subprocess.run([node(), "--test"], cwd=PACKAGE, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "# pass 5" in ran.stdout


@pytest.fixture(scope="session")
def promptfoo() -> list[str]:
    """The command, installed by npm beside the checkout's tools, once: it takes minutes."""
    node()
    folder = Path(os.environ.get("FORELOCK_TEST_PROMPTFOO") or ROOT / ".do" / f"promptfoo-{VERSION}")
    newest = folder / "node_modules" / ".bin" / "node"
    if not (folder / "installed").exists():
        folder.mkdir(parents=True, exist_ok=True)
        command = [
            "npm",
            "install",
            "--no-audit",
            "--no-fund",
            "--prefix",
            str(folder),
            "node@22",
            f"promptfoo@{VERSION}",
        ]
        if shutil.which("npm") is None or subprocess.run(command, capture_output=True).returncode != 0:
            pytest.skip(f"promptfoo {VERSION} could not be installed by npm here")
        (folder / "installed").touch()
    return [str(newest), str(folder / "node_modules" / "promptfoo" / "dist" / "src" / "entrypoint.js")]


@pytest.fixture
def config(desk: Desk) -> Path:
    path = desk.folder / "promptfooconfig.json"
    (desk.folder / "mock.mjs").write_text(PROVIDER)
    shutil.copy(PACKAGE / "forelock.mjs", desk.folder)
    tests = [{"vars": {"item": item, "number": number}} for number, item in enumerate(ids())]
    path.write_text(
        json.dumps(
            {
                "prompts": ["{{item}}"],
                "providers": ["file://mock.mjs"],
                "defaultTest": {"assert": [{"type": "equals", "value": "yes"}]},
                "tests": tests,
                "extensions": ["file://forelock.mjs:afterEach", "file://forelock.mjs:afterAll"],
            }
        )
    )
    return path


def evaluate(desk: Desk, prereg_id: str, promptfoo: list[str], **more: str):
    quiet = {
        "PROMPTFOO_DISABLE_TELEMETRY": "1",
        "PROMPTFOO_DISABLE_UPDATE": "1",
        "PROMPTFOO_DISABLE_REMOTE_GENERATION": "1",
        "PROMPTFOO_CONFIG_DIR": str(desk.folder / "promptfoo"),
    }
    command = [*promptfoo, "eval", "-c", "promptfooconfig.json", "--no-cache", "-j", "1", "--no-progress-bar"]
    return desk.run(prereg_id, "B", *command, **quiet, **more)


def test_evaluation_ends_in_a_verdict(desk: Desk, config: Path, promptfoo: list[str]) -> None:
    client = desk.start()
    prereg_id = desk.locked(client, **{"import": MAPPING})
    post_baseline(client, prereg_id)
    ran = evaluate(desk, prereg_id, promptfoo)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert rows(client, prereg_id) == baseline() | candidate()


def test_service_that_dies_during_the_evaluation_loses_nothing(
    desk: Desk, config: Path, promptfoo: list[str]
) -> None:
    client = desk.start()
    prereg_id = desk.locked(client, **{"import": MAPPING})
    post_baseline(client, prereg_id)
    ran = evaluate(desk, prereg_id, promptfoo, CALLS=desk.killing())
    desk.stop()
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert f"{N} results wait" in ran.stdout + ran.stderr
    client = desk.start()
    assert received(client, prereg_id) == N
    sent = desk.run(prereg_id, "B", promptfoo[0], "forelock.mjs", "send")
    assert (sent.returncode, sent.stdout) == (0, "1 evaluations are with the service, 0 wait\n"), sent.stderr
    assert rows(client, prereg_id) == baseline() | candidate()
