"""The pages as axe-core judges them: nothing that keeps somebody from using them, in light and in dark."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.visits import visit  # noqa: F401  # a fixture
from tests.journeys.conftest import service  # noqa: F401  # a fixture
from tests.journeys.plans import draft, items, locked, post, small_plan
from tests.web.requests_of_width import WIDE

pytestmark = [pytest.mark.browser, pytest.mark.slow]
N = 8


def faults(page: Any, axe: Any) -> list[tuple[str, str, str]]:
    """What axe-core finds on the page as it is."""
    page.wait_for_load_state("networkidle")
    page.evaluate(axe.read_text())
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    return [(page.url, each["id"], each["nodes"][0]["html"][:200]) for each in found]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_can_be_used_by_everybody(visit: Any, axe: Any, service: Any, scheme: str) -> None:  # noqa: F811
    collecting = locked(service.client, small_plan(N))
    assert post(service.client, collecting, "A", items(N), [1] * N).status_code == 201
    unfinished = draft(service.client, small_plan(N))
    for night, right in (("n1", 1), ("n2", 1), ("n3", 0)):
        sent = {"name": night, "item_ids": items(N), "values": [right] * (N - 1) + [1]}
        assert service.client.post("/v1/series/nightly/points", json=sent).status_code == 201
    page = visit(color_scheme=scheme, bypass_csp=True)
    address, verdict = page.url.partition("/preregistrations")[0], page.url
    page.get_by_text("More pictures").click()
    found = faults(page, axe)
    page.get_by_role("button", name="Sign out").click()
    found += faults(page, axe)
    page.get_by_label("API key").fill(service.key())
    page.keyboard.press("Enter")
    page.wait_for_url("**/preregistrations")
    for path in (
        "/overview", f"{verdict[len(address):]}/items",
        "/preregistrations", f"/preregistrations/{collecting}", f"/preregistrations/{collecting}/missing",
        f"/preregistrations/{unfinished}/plan", "/plans/new", "/tests", "/jobs", "/audit", "/keys",
        "/series", "/series/nightly",
        f"{verdict[len(address):]}/plan",
        "/preregistrations?lang=zh", "/plans/new?lang=zh", f"{verdict[len(address):]}", "/plans/new?lang=en",
    ):  # fmt: skip
        page.goto(address + path)
        found += faults(page, axe)
    page.goto(f"{address}/tests/mcnemar")
    page.get_by_role("button", name="Compute").click()
    page.get_by_role("heading", name="Answer").wait_for()
    found += faults(page, axe)
    page.goto(f"{address}/questions")
    page.get_by_label("Result files").set_input_files(
        {"name": "x.csv", "mimeType": "text/csv", "buffer": b"item_id,repo,value\na,r,1\nb,s,0\nc,s,1\n"}
    )
    page.get_by_role("button", name="Ask").click()
    page.get_by_role("heading", name="Answer").wait_for()
    found += faults(page, axe)
    page.goto(f"{address}/leaderboards")
    page.get_by_label("CSV").fill(WIDE)
    page.get_by_role("button", name="Rank them").click()
    page.get_by_role("heading", name="Answer").wait_for()
    found += faults(page, axe)
    page.get_by_label("CSV").fill("a,b\n1")
    page.get_by_role("button", name="Rank them").click()
    page.get_by_role("alert").wait_for()
    assert found + faults(page, axe) == []
