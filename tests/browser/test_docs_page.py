from __future__ import annotations

import pytest

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
