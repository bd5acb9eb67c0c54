from __future__ import annotations

import shutil
import subprocess

import pytest

AXE = "axe-core@4.14.1"
pytestmark = pytest.mark.browser


def test_the_api_page_shows_every_operation_and_asks_nobody_else(chromium, address):
    page = chromium.new_page()
    asked, complaints = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(f"{address}/docs")
    page.wait_for_selector("#operations-tests-runMcnemar")
    document = page.request.get(f"{address}/openapi.json").json()
    assert page.locator(".opblock").count() == sum(map(len, document["paths"].values()))
    page.locator("#operations-tests-runMcnemar").click()
    page.wait_for_selector("#operations-tests-runMcnemar .model-example")
    assert complaints == []
    assert all(url.startswith((address, "data:")) for url in asked)
    page.close()


@pytest.fixture(scope="session")
def axe(tmp_path_factory):
    """The path of the accessibility checker."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    directory = tmp_path_factory.mktemp("axe")
    command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(directory), AXE]
    if subprocess.run(command, capture_output=True, check=False, timeout=200).returncode != 0:
        pytest.skip(f"npm cannot fetch {AXE} here")
    return directory / "node_modules" / "axe-core" / "axe.min.js"


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_api_page_can_be_used_by_everybody(chromium, address, axe, scheme):
    with chromium.new_context(color_scheme=scheme, bypass_csp=True) as context:
        page = context.new_page()
        page.goto(f"{address}/docs")
        page.wait_for_selector("#operations-tests-runMcnemar")
        for name in (
            "tests-runMcnemar",
            "results-postResults",
            "jobs-cancelJob",
            "preregistrations-editPreregistration",
        ):
            page.locator(f"#operations-{name} .opblock-summary-control").click()
            page.wait_for_selector(f"#operations-{name} .responses-table")
        page.add_script_tag(path=axe)
        found = page.evaluate("axe.run({resultTypes: ['violations']})")["violations"]
        told = [(each["id"], each["impact"], each["nodes"][0]["html"]) for each in found]
        assert told == []


def test_the_api_page_is_dark_where_the_system_is(chromium, address):
    backs = set()
    for scheme in ("light", "dark"):
        with chromium.new_context(color_scheme=scheme) as context:
            page = context.new_page()
            page.goto(f"{address}/docs")
            page.wait_for_selector("#operations-tests-runMcnemar")
            backs.add(page.evaluate("getComputedStyle(document.querySelector('.swagger-ui')).color"))
    assert len(backs) == 2
