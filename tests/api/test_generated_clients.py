"""Clients made from the OpenAPI document by other people's generators work against the service."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from service.api import openapi
from service.app import routes
from service.stats.shared.declaring import registry
from tests.pages import blocks

from .conftest import on_a_socket

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

ROOT = Path(__file__).parents[2]
PYTHON_GENERATOR = "openapi-python-client==0.29.1"
TYPESCRIPT_TOOLS = ("openapi-typescript@7.13.0", "typescript@5.9.3")
CALL = """
import sys
sys.path.insert(0, sys.argv[1])
from forelock_client import AuthenticatedClient
import importlib, pkgutil
import forelock_client.api
for each in pkgutil.walk_packages(forelock_client.api.__path__, "forelock_client.api."):
    importlib.import_module(each.name)
from forelock_client.api.deviations import file_deviation
from forelock_client.api.results import post_results
from forelock_client.api.tests import run_mcnemar
from forelock_client.models import McNemarRequest

client = AuthenticatedClient(base_url=sys.argv[2], token=sys.argv[3], raise_on_unexpected_status=True)
request = McNemarRequest(both_correct=1, only_baseline=1, only_candidate=7, both_wrong=12)
answer = run_mcnemar.sync_detailed(client=client, body=request)
assert answer.status_code == 200, answer.content
print(answer.parsed.analysis.p_value)
"""
USE = """
import type { operations } from "./api";
type Run = operations["runMcnemar"];
type Asked = Run["requestBody"]["content"]["application/json"];
type Answer = Run["responses"][200]["content"]["application/json"];
const asked: Partial<Asked> = { both_correct: 1, only_baseline: 1, only_candidate: 7, both_wrong: 12 };
export const p = (answer: Answer): number => answer.analysis.p_value;
export type Filed = operations["fileDeviation"]["requestBody"]["content"]["application/json"];
// @ts-expect-error - a number is no margin
export const margin: operations["runEquivalence"]["requestBody"]["content"]["application/json"]["margin"] = 0.05;
export default asked;
"""


@pytest.fixture
def database_url(sqlite_url: str) -> str:
    return sqlite_url


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "openapi.json"
    path.write_text(openapi.format_document(routes()), encoding="utf-8")
    return path


@pytest.fixture
def address(app: Any) -> Iterator[str]:
    """The application behind a real socket."""
    with on_a_socket(app) as found:
        yield found


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        list(map(str, command)), cwd=cwd, capture_output=True, text=True, check=False, timeout=600
    )


def test_a_python_client_is_whole_and_works(
    document: Path, tmp_path: Path, address: str, client: Any
) -> None:
    uv = (ROOT / "do", "uv", "run", "--no-project", "--with", PYTHON_GENERATOR)
    there = run(*uv, "openapi-python-client", "--version", cwd=tmp_path)
    if there.returncode != 0:
        pytest.skip(f"{PYTHON_GENERATOR} cannot be fetched here: {there.stderr.strip().splitlines()[-1]}")
    package = tmp_path / "forelock_client"
    # The first one to ask waits until the document is made, and the generator gives up after five seconds.
    assert client.get("/openapi.json", params={"bodies": "json"}).status_code == 200
    made = run(
        *uv, "openapi-python-client", "generate", "--meta", "none", "--output-path", package,
        "--url", f"{address}/openapi.json?bodies=json", cwd=tmp_path,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    assert "warning" not in (made.stdout + made.stderr).lower(), made.stdout + made.stderr
    operations = sum(map(len, json.loads(document.read_text())["paths"].values()))
    assert len([path for path in package.glob("api/*/*.py") if path.name != "__init__.py"]) == operations
    (tmp_path / "call.py").write_text(CALL)
    secret = client.headers["Authorization"].removeprefix("Bearer ")
    called = run(*uv, "python", "call.py", tmp_path, address, secret, cwd=tmp_path)
    assert called.returncode == 0, called.stderr
    mcnemar = registry.find("mcnemar")
    answer = mcnemar.answer(mcnemar.request.model_validate_json(json.dumps(mcnemar.example)))
    assert float(called.stdout) == answer.analysis.p_value


def variables(address: str, client: Any) -> dict[str, str]:
    """What the pages say is in the environment."""
    secret = client.headers["Authorization"].removeprefix("Bearer ")
    return os.environ | {"FORELOCK_URL": address, "FORELOCK_API_KEY": secret}


def test_the_page_of_typescript_is_what_happens(tmp_path: Path, address: str, client: Any) -> None:
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    (commands, program, printed) = (text for _language, text in blocks("docs/typescript.md"))
    (tmp_path / "mcnemar.ts").write_text(program)
    install, *rest = commands.splitlines()
    if run(*shlex.split(install), "--no-audit", "--no-fund", cwd=tmp_path).returncode != 0:
        pytest.skip("npm cannot fetch the packages here")
    done = subprocess.run(
        "set -e\n" + "\n".join(rest), shell=True, cwd=tmp_path, env=variables(address, client),
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith(printed)
    (tmp_path / "wrong.ts").write_text(program.replace("both_wrong: 20", 'both_wrong: "20"'))
    compile_ = rest[2].replace("mcnemar.ts", "wrong.ts")
    assert run(*shlex.split(compile_), cwd=tmp_path).returncode != 0


def test_the_page_of_r_is_what_happens(tmp_path: Path, address: str, client: Any) -> None:
    if (
        shutil.which("Rscript") is None
        or run("Rscript", "-e", "library(httr2); library(jsonlite)", cwd=tmp_path).returncode != 0
    ):
        pytest.skip("R with httr2 is not installed (Debian: r-cran-httr2, r-cran-jsonlite)")
    (program, printed) = (text for _language, text in blocks("docs/r.md"))

    def ran(text: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "mcnemar.R").write_text(text)
        return subprocess.run(
            ["Rscript", "--vanilla", "mcnemar.R"], cwd=tmp_path, env=variables(address, client),
            capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip

    done = ran(program)
    assert (done.returncode, done.stdout) == (0, printed), done.stderr
    columns = "list(baseline = c(1, 0, 1), candidate = c(1, 1, 1))"
    assert ran(program.replace(program.split("counts <- ")[1].splitlines()[0], columns)).returncode == 0
    assert (
        "both_wrong must be at least 0" in ran(program.replace("both_wrong = 20", "both_wrong = -20")).stderr
    )


def test_typescript_types_compile_and_say_what_fits(document: Path, tmp_path: Path) -> None:
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    fetched = run(
        "npm", "install", "--no-audit", "--no-fund", "--prefix", tmp_path, *TYPESCRIPT_TOOLS, cwd=tmp_path
    )
    if fetched.returncode != 0:
        pytest.skip(f"npm cannot fetch {TYPESCRIPT_TOOLS} here")
    tools = tmp_path / "node_modules" / ".bin"
    made = run(tools / "openapi-typescript", document, "-o", "api.ts", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    (tmp_path / "use.ts").write_text(USE)
    compiled = run(tools / "tsc", "--noEmit", "--strict", "--skipLibCheck", "use.ts", cwd=tmp_path)
    assert compiled.returncode == 0, compiled.stdout
