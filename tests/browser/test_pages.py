from __future__ import annotations

import pytest

from tests.browser.screens import CONTRASTS, DESK, PHONE
from tests.drawing import one_in
from tests.web.samples import RULE

pytestmark = pytest.mark.browser


@pytest.fixture
def visit(chromium, address, keep, new_key):
    """Open the judged page signed in, through the form, in a browser of the given shape."""
    keep("judged")
    _key, secret = new_key("read")
    contexts = []

    def open_page(**shape):
        context = chromium.new_context(**{**DESK, "java_script_enabled": False, **shape})
        contexts.append(context)
        page = context.new_page()
        page.goto(f"{address}/preregistrations/p1")
        page.get_by_label("API key").fill(secret)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url("**/preregistrations/p1")
        return page

    yield open_page
    for context in contexts:
        context.close()


def test_a_person_without_scripts_reads_the_verdict(visit):
    page = visit()
    assert page.title() == "Caching & <b>synthesis</b> · Forelock"
    assert page.get_by_role("heading", level=1).inner_text() == "Caching & <b>synthesis</b>"
    assert page.get_by_role("heading", level=2).first.inner_text() == "H1a Not supported"
    assert page.get_by_text(RULE).is_visible()
    rows = page.get_by_role("table", name="Clauses of the rule").get_by_role("row").all_inner_texts()
    assert [row.split()[-1] for row in rows[1:3]] == ["holds", "fails"]


def test_a_person_walks_from_the_list_and_signs_out(visit):
    page = visit()
    page.get_by_role("link", name="Forelock").click()
    page.get_by_role("link", name="Caching").click()
    assert page.get_by_role("heading", level=1).is_visible()
    page.get_by_role("button", name="Sign out").click()
    assert page.get_by_label("API key").is_visible()
    assert page.context.cookies() == []


def test_a_wrong_key_is_told_in_the_form(chromium, address):
    with chromium.new_context(**DESK) as context:
        page = context.new_page()
        page.goto(f"{address}/login")
        page.get_by_label("API key").fill("flk_wrong")
        page.keyboard.press("Enter")
        assert "mistyped" in page.get_by_role("alert").inner_text()
        assert page.get_by_label("API key").input_value() == ""


def test_the_page_loads_nothing_from_elsewhere_and_breaks_no_policy(visit, address):
    page = visit(java_script_enabled=True)
    asked, complaints = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: complaints.append(message.text))
    page.reload(wait_until="networkidle")
    assert {f"{address}/static/forelock.css", f"{address}/preregistrations/p1"} <= set(asked)
    assert all(url.startswith(f"{address}/") for url in asked)
    assert complaints == []


@pytest.mark.parametrize("path", ["/preregistrations/p1", "/preregistrations", "/login"])
def test_a_phone_never_scrolls_sideways(visit, address, path):
    page = visit(**PHONE, java_script_enabled=True)
    page.goto(address + path)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", one_in(2, ["/preregistrations/p1", "/preregistrations", "/login"]))
def test_every_text_has_contrast(visit, address, scheme, path):
    page = visit(color_scheme=scheme, java_script_enabled=True)
    page.goto(address + path)
    ratios = page.evaluate(CONTRASTS)
    assert len(ratios) > 5
    assert [each for each in ratios if each[1] < 4.5] == []


@pytest.mark.slow
def test_light_and_dark_differ(visit):
    backs = {
        visit(color_scheme=scheme, java_script_enabled=True).evaluate(
            "getComputedStyle(document.body).backgroundColor"
        )
        for scheme in ("light", "dark")
    }
    assert len(backs) == 2


def test_the_keyboard_reaches_the_content_first(visit):
    page = visit()
    page.keyboard.press("Tab")
    assert page.get_by_role("link", name="To the content").bounding_box()["x"] >= 0


CELLS = """[...document.querySelectorAll('main table')].flatMap(table => {
  const heads = [...table.tHead.rows[0].cells];
  return [...table.tBodies[0].rows].flatMap(row => [...row.cells].map((cell, at) => ({
    head: heads[at].innerText, ink: getComputedStyle(cell).backgroundColor,
    left: textLeft(cell) - textLeft(heads[at]), top: textTop(cell) - textTop(row.cells[0]),
  })));
})"""
PLACES = """
function boxOf(cell) {
  const range = document.createRange();
  range.selectNodeContents(cell);
  return range.getClientRects()[0];
}
function textLeft(cell) { return boxOf(cell).left; }
function textTop(cell) { return boxOf(cell).top; }
"""


@pytest.mark.slow
def test_the_columns_of_the_list_stand_below_their_heads_and_none_is_shaded(visit, address):
    page = visit(java_script_enabled=True)
    page.goto(f"{address}/preregistrations")
    cells = page.evaluate(f"(() => {{ {PLACES} return {CELLS} }})()")
    assert {"Title", "State", "Outcome", "Created"} == {cell["head"] for cell in cells}
    for cell in cells:
        assert cell["ink"] == "rgba(0, 0, 0, 0)", cell
        if cell["head"] != "Outcome":  # labels with a border of their own
            assert (abs(cell["left"]) < 1, abs(cell["top"]) < 2) == (True, True), cell


def test_a_mended_field_leaves_the_list_of_faults_and_the_list_goes_with_its_last_line(
    chromium, address, new_key
):
    _key, secret = new_key("read", "plans:write")
    with chromium.new_context(**DESK) as context:
        page = context.new_page()
        page.goto(f"{address}/plans/new")
        page.get_by_label("API key").fill(secret)
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("button", name="Create the draft").click()
        lines = page.locator("#faults li")
        named = [link.get_attribute("href")[1:] for link in page.locator("#faults a").all()]
        assert named == ["dataset", "independence"]
        page.locator("#dataset").fill("Dev v1")
        page.locator('#faults a[href="#dataset"]').wait_for(state="detached")
        assert lines.count() == 1
        assert page.locator("#dataset-fault").count() == 0
        assert page.locator("#independence-fault").is_visible()
        page.locator("#independence").fill("another page each")
        page.locator("#faults").wait_for(state="detached")
        assert page.locator("#independence-fault").count() == 0
