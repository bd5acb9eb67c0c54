from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.api.conftest import on_a_socket
from tests.web.conftest import app, database, keep, new_key, project  # noqa: F401  # fixtures

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture
def address(app: Any) -> Iterator[str]:  # noqa: F811
    """The application behind a real socket on a free port of this machine."""
    with on_a_socket(app) as found:
        yield found


@pytest.fixture(
    scope="module"
)  # no longer: Playwright's loop runs in this thread, and other tests have their own
def chromium() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed (Debian: apt-get install chromium)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()
