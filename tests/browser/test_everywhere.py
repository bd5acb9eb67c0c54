"""Every page by the keyboard alone and without scripts: each control is reached, in order, and is seen to be; links go
somewhere, forms answer, and the page says what it is about.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from tests.api.conftest import on_a_socket
from tests.browser.screens import DESK, PHONE
from tests.journeys.conftest import Service, service  # noqa: F401  # a fixture
from tests.journeys.filings import judged
from tests.journeys.plans import draft, items, locked, post, small_plan
from tests.web.requests_of_width import WIDE

pytestmark = pytest.mark.browser
N = 8
RESULTS = {"name": "x.csv", "mimeType": "text/csv", "buffer": b"item_id,value\na,1\nb,0\nc,1\nd,1\n"}

PARTS_OF_A_DATE = 6
"""A field of a date takes the key several times."""
REACHED = """() => [...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea, summary,'
  + '[tabindex="0"]')].filter(e => e.checkVisibility() && !e.disabled).map((e, at) => (e.dataset.at = at, e.type))"""
"""Numbers every control that is seen, in the order of the page; their types."""
FOCUSED = """() => {
  const e = document.activeElement, style = getComputedStyle(e), box = e.getBoundingClientRect();
  const ring = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 1;
  return [Number(e.dataset.at ?? -1), ring, box.right > 0 && box.bottom > 0 && box.left < innerWidth];
}"""

CUT = """() => [document.documentElement, ...document.querySelectorAll('.wide')]
  .filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.tagName + ' ' + e.scrollWidth)"""
"""What is wider than its room."""


class House(NamedTuple):
    """A service with a record in every state, behind a socket."""

    address: str
    secret: str
    paths: tuple[str, ...]


@pytest.fixture
def house(service: Service) -> Iterator[House]:  # noqa: F811
    verdict = judged(service)
    collecting = locked(service.client, small_plan(N))
    assert post(service.client, collecting, "A", items(N), [1] * N).status_code == 201
    unfinished = draft(service.client, small_plan(N))
    for night in ("n1", "n2"):
        sent = {"name": night, "item_ids": items(N), "values": [1] * (N - 1) + [0]}
        assert service.client.post("/v1/series/nightly/points", json=sent).status_code == 201
    link = f"/v1/preregistrations/{verdict}"
    assert service.client.put(f"{link}/visibility", json={"visibility": "link"}).status_code == 200
    shared = service.client.post(f"{link}/view-links", json={"name": "reviewer 2"}).json()["path"]
    record = "/preregistrations"
    paths = (
        "/overview", record, f"{record}/{verdict}", f"{record}/{verdict}/items", f"{record}/{verdict}/plan",
        f"{record}/{collecting}", f"{record}/{collecting}/missing", f"{record}/{unfinished}",
        f"{record}/{unfinished}/plan", "/plans/new", "/questions", "/tests", "/tests/mcnemar", "/leaderboards",
        "/series", "/series/nightly", "/jobs", "/audit", "/keys", shared, "/nosuchpage",
    )  # fmt: skip
    with on_a_socket(service.app) as address:
        yield House(address, service.key(), paths)


def sign_in(chromium: Any, house: House, **shape: Any) -> Any:
    """A page without scripts, signed in by the keyboard alone."""
    page = chromium.new_context(**{**DESK, **shape}, java_script_enabled=False).new_page()
    page.goto(f"{house.address}/login")
    for _ in range(5):
        page.keyboard.press("Tab")
        if page.locator("#key:focus").count():
            break
    page.keyboard.type(house.secret)
    page.keyboard.press("Enter")
    page.wait_for_url("**/preregistrations")
    return page


def test_the_keyboard_reaches_every_control_in_order_and_shows_where_it_is(
    chromium: Any, house: House
) -> None:
    page = sign_in(chromium, house)
    for path in house.paths:
        page.goto(house.address + path)
        types = page.evaluate(REACHED)
        seen: list[int] = []
        for _ in range(len(types) + PARTS_OF_A_DATE):
            page.keyboard.press("Tab")
            at, ring, on_screen = page.evaluate(FOCUSED)
            if seen and at == seen[-1]:
                continue
            if at < 0 or at in seen:
                break
            assert ring, f"{path}: control {at} shows no focus"
            assert on_screen, f"{path}: control {at} has the focus off the screen"
            seen.append(at)
        lacking = {at for at in range(len(types)) if at not in seen and types[at] != "radio"}
        assert lacking == set(), f"{path}: not reached"
        assert seen == sorted(seen), f"{path}: out of order"
    page.context.close()


def test_on_a_phone_no_page_and_no_table_is_moved_sideways(chromium: Any, house: House) -> None:
    page = sign_in(chromium, house, **PHONE)
    for path in house.paths:
        page.goto(house.address + path)
        assert page.evaluate(CUT) == [], path
    page.context.close()


@pytest.mark.slow
def test_without_scripts_every_page_says_what_it_is_and_every_link_leads_somewhere(
    chromium: Any, house: House
) -> None:
    page = sign_in(chromium, house)
    links = set()
    for path in house.paths:
        page.goto(house.address + path)
        heading = page.get_by_role("heading", level=1)
        assert heading.count() == 1, path
        assert heading.inner_text().strip(), path
        assert len(page.locator("main").inner_text()) > 20, path
        for link in page.locator("a[href]").all():
            links.add(link.get_attribute("href").partition("#")[0])
    dead = {
        link: answer.status
        for link in sorted(links)
        if link.startswith("/") and not link.startswith("/nosuchpage")
        for answer in (page.request.get(house.address + link),)
        if answer.status != 200
    }
    assert dead == {}
    page.context.close()


def test_without_scripts_every_form_answers(chromium: Any, house: House) -> None:
    page = sign_in(chromium, house)

    def sent(path: str, button: str) -> str:
        if path:
            page.goto(house.address + path)
        with page.expect_navigation():
            page.get_by_role("button", name=button, exact=True).click()
        return page.locator("main").inner_text()

    page.get_by_label("Search").fill("zzzz")
    assert "None match." in sent("", "Search")
    page.goto(f"{house.address}/questions")
    page.get_by_label("Result files").set_input_files(RESULTS)
    assert "x.csv scores 75.0%" in sent("", "Ask")
    assert "Answer" in sent("/tests/mcnemar", "Compute")
    page.goto(f"{house.address}/leaderboards")
    page.locator("#table").fill(WIDE)
    assert "Systems in order" in sent("", "Rank them")
    assert "Something is still to be answered" in sent("/plans/new", "Create the draft")
    page.goto(f"{house.address}/keys")
    page.get_by_label("Who or what will use it").fill("nightly")
    page.get_by_label("read, also these pages").check()
    assert "The key nightly is made" in sent("", "Make the key")
    assert page.get_by_label("API key").count() == 0
    assert "API key" in sent("/preregistrations", "Sign out")
    page.context.close()
