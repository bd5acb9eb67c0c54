from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.api.conftest import on_a_socket
from tests.web.conftest import app, database, keep, new_key, others, project  # noqa: F401  # fixtures

AXE = "axe-core@4.14.1"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


@pytest.fixture
def address(app: Any) -> Iterator[str]:  # noqa: F811
    """The application behind a real socket on a free port of this machine."""
    with on_a_socket(app) as found:
        yield found


# no longer: Playwright's loop runs in this thread, and other tests have their own
@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed (Debian: apt-get install chromium)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The path of the accessibility checker."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    directory = tmp_path_factory.mktemp("axe")
    command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(directory), AXE]
    if subprocess.run(command, capture_output=True, check=False, timeout=200).returncode != 0:
        pytest.skip(f"npm cannot fetch {AXE} here")
    return directory / "node_modules" / "axe-core" / "axe.min.js"
