"""A study on the pages from the first question to the verdict and its links, in one browser, with scripts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.api.conftest import bearer, on_a_socket
from tests.browser.watched import watched
from tests.journeys.conftest import Service, service  # noqa: F401  # a fixture
from tests.journeys.plans import post

pytestmark = pytest.mark.browser
N = 30
IDS = [f"question {number}" for number in range(N)]
OLD, NEW = [1] * 10 + [0] * 20, [1] * 20 + [0] * 10


def seen(picture: Any) -> bool:
    """True once a picture is drawn; it is looked at, so that it loads."""
    picture.scroll_into_view_if_needed()
    return bool(picture.evaluate("image => image.decode().then(() => image.naturalWidth > 200)"))


@pytest.mark.slow
def test_a_study_from_its_questions_to_a_link_that_is_revoked(chromium: Any, service: Service) -> None:  # noqa: F811
    secret = service.key()
    with on_a_socket(service.app) as address, chromium.new_context() as context:
        page = context.new_page()
        asked, complaints = watched(page)

        page.goto(f"{address}/plans/new")  # sign in, on the way to where one wants to go
        page.get_by_label("API key").fill(secret)
        page.keyboard.press("Enter")
        page.wait_for_url("**/plans/new")

        # the questions, told while they are answered
        page.get_by_label("The data, with version").fill("Dev v1")
        page.get_by_label("How many items", exact=True).fill(str(N))
        page.get_by_label("Or why no two items belong together").fill("another page each")
        page.locator("#live", has_text=f"{N} items are planned.").wait_for(state="attached")
        with page.expect_download() as kept:
            page.get_by_role("button", name="JSON").click()
        assert '"Dev v1"' in Path(kept.value.path()).read_text()
        page.get_by_role("button", name="Create the draft").click()

        page.wait_for_url("**/plan")  # the plan: what it can show, its items, its lock
        assert seen(page.get_by_alt_text(re.compile("How often each rule would hold")))
        page.get_by_label("Items of items").fill("\n".join(IDS))
        page.get_by_role("button", name="List the items").click()
        page.get_by_role("button", name="Lock the plan").click()
        page.get_by_text("Locked. The plan can no longer change").wait_for()
        prereg_id = page.url.rpartition("/")[2]

        for arm, values, told in (
            ("old", OLD, f"{N} of {2 * N} results are in"),
            ("new", NEW, None),
        ):  # progress
            assert post(service.client, prereg_id, arm, IDS, values).status_code == 201
            if told:
                page.get_by_text(told).wait_for()
        page.get_by_text("More has happened.").wait_for()
        assert service.run_jobs() == 1
        page.get_by_role("link", name="Read the page again").click()

        assert page.locator("h1 ~ .lead .outcome").inner_text() == "Supported"  # the verdict and its pictures
        page.get_by_text("Every interval, and which decided").click()
        assert seen(page.get_by_alt_text(re.compile("Intervals against no difference")))
        assert seen(page.get_by_alt_text(re.compile("over the first n items")))
        page.get_by_text("More pictures").click()
        more = page.locator("details.more", has_text="More pictures").locator("img").all()
        assert len(more) == 3
        assert all(seen(each) for each in more)
        for link in page.locator(".downloads a").all():
            got = page.request.get(address + link.get_attribute("href"))
            assert (got.status, len(got.body()) > 500) == (200, True), link.get_attribute("href")

        page.get_by_role("link", name="Preregistrations").click()  # a search
        page.get_by_label("Search ids, titles and hypotheses").fill("dev v1")
        page.keyboard.press("Enter")
        page.get_by_role("status").get_by_text("1 shown that match.").wait_for()

        sent, record = {"headers": bearer(secret)}, f"{address}/v1/preregistrations/{prereg_id}"  # a link
        assert page.request.put(f"{record}/visibility", data={"visibility": "link"}, **sent).ok
        made = page.request.post(f"{record}/view-links", data={"name": "R2"}, **sent).json()
        page.get_by_role("button", name="Sign out").click()
        page.goto(f"{address}{made['path']}?lang=zh")
        assert page.locator("h2 .outcome").first.inner_text() == "得到支持"
        assert seen(page.get_by_alt_text("各区间与“无差异”及最小关注效应量的对照。"))
        assert page.request.delete(f"{record}/view-links/{made['link']['id']}", **sent).ok
        page.reload()
        assert "此链接打不开任何内容" in page.get_by_role("main").inner_text()

        assert all(url.startswith(f"{address}/") for url in asked)
        assert [each for each in complaints if "404" not in each] == []  # the link that was revoked
