"""A search, progress as it moves, and a view-only link until it is revoked, as a person sees them."""

from __future__ import annotations

import pytest

from service.store.results import coverage
from tests.api.conftest import bearer
from tests.browser.watched import watched

pytestmark = pytest.mark.browser


def test_a_person_searches_by_keyboard(chromium, address, keep, new_key):
    keep("draft", "p1")
    keep("collecting", "p2")
    _key, secret = new_key("read")
    with chromium.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        asked, complaints = watched(page)
        page.goto(f"{address}/preregistrations")
        page.get_by_label("API key").fill(secret)
        page.keyboard.press("Enter")
        page.get_by_label("Search ids, titles and hypotheses").fill("caching")
        page.keyboard.press("Enter")
        assert page.get_by_role("status").inner_text().startswith("2 shown that match.")
        page.get_by_label("State").select_option("collecting")
        page.get_by_role("button", name="Search").click()
        (link,) = page.get_by_role("table").get_by_role("link").all()
        assert link.get_attribute("href") == "/preregistrations/p2"
        assert all(url.startswith(f"{address}/") for url in asked)
        assert complaints == []


def test_a_view_only_link_is_read_and_then_revoked(chromium, address, keep, new_key):
    keep("judged")
    _key, secret = new_key("plans:lock")
    with chromium.new_context() as context:
        page = context.new_page()
        asked, complaints = watched(page)
        record = f"{address}/v1/preregistrations/p1"
        sent = {"headers": bearer(secret)}
        assert page.request.put(f"{record}/visibility", data={"visibility": "link"}, **sent).ok
        made = page.request.post(
            f"{record}/view-links", data={"name": "R2", "anonymous": True}, **sent
        ).json()
        page.goto(address + made["path"])
        assert page.get_by_role("heading", level=2).first.inner_text() == "H1a Not supported"
        assert page.get_by_role("button", name="Sign out").count() == 0
        assert page.get_by_role("link", name="Receipt of the plan").is_visible()
        assert all(url.startswith(f"{address}/") for url in asked)
        assert complaints == []
        assert page.request.delete(f"{record}/view-links/{made['link']['id']}", **sent).ok
        page.reload()
        assert "opens nothing" in page.get_by_role("main").inner_text()
        assert context.cookies() == []


def test_progress_moves_without_a_reload(chromium, address, keep, new_key, database):
    keep("collecting")
    _key, secret = new_key("read")
    with chromium.new_context() as context:
        page = context.new_page()
        asked, complaints = watched(page)
        page.goto(f"{address}/preregistrations/p1")
        page.get_by_label("API key").fill(secret)
        page.keyboard.press("Enter")
        page.get_by_text("0 of 8 results are in").wait_for()
        with database.write() as session:
            coverage.save(session, "p1", ("dev", "C1", "accuracy", 1), b"\x07", 3)
        page.get_by_text("3 of 8 results are in").wait_for()
        assert page.locator("#progress").evaluate("bar => bar.value") == 3
        assert page.locator("#news").is_hidden()
        assert all(url.startswith(f"{address}/") for url in asked)
        assert complaints == []
