from __future__ import annotations

import pytest

pytestmark = pytest.mark.browser


@pytest.mark.slow
def test_the_api_page_shows_operations_asks_nobody_else_and_is_dark_where_the_system_is(chromium, address):
    page = chromium.new_page(viewport={"width": 1280, "height": 900}, color_scheme="light")
    asked, complaints = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.set_default_timeout(120_000)
    page.goto(f"{address}/docs#/tests/runMcnemar")
    page.wait_for_selector("#operations-tests-runMcnemar .model-example")
    assert operations(page) < documented(page, address)
    light = text_colour(page)
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(
        "light => getComputedStyle(document.querySelector('.swagger-ui')).color !== light", arg=light
    )
    assert complaints == []
    assert all(url.startswith((address, "data:")) for url in asked)
    page.close()


@pytest.mark.slow
def test_the_api_page_shows_every_operation(chromium, address):
    page = chromium.new_page(viewport={"width": 1280, "height": 4000})
    page.goto(f"{address}/docs")
    page.wait_for_selector(".opblock")
    assert scrolled_over(page) == documented(page, address)
    page.close()


def documented(page, address):
    document = page.request.get(f"{address}/openapi.json").json()
    return {each["operationId"] for path in document["paths"].values() for each in path.values()}


def operations(page):
    """Ids of the operations that are drawn now."""
    return set(page.locator(".opblock").evaluate_all("all => all.map(each => each.id.split('-').pop())"))


def scrolled_over(page):
    """Ids of the operations from the top to the end: of so many the page draws those in sight."""
    seen = set()
    while True:
        seen |= operations(page)
        before = page.evaluate("scrollY")
        page.evaluate("scrollBy(0, innerHeight / 2)")
        page.wait_for_timeout(60)
        if page.evaluate("scrollY") == before:
            return seen


def text_colour(page):
    return page.evaluate("getComputedStyle(document.querySelector('.swagger-ui')).color")


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_api_page_can_be_used_by_everybody(chromium, address, axe, scheme):
    with chromium.new_context(color_scheme=scheme, bypass_csp=True) as context:
        page = context.new_page()
        page.set_default_timeout(120_000)  # a slow machine lays out the whole API
        for name in (
            "tests/runMcnemar",
            "results/postResults",
            "jobs/cancelJob",
            "preregistrations/editPreregistration",
        ):
            page.goto(f"{address}/docs#/{name}")
            page.reload()  # it opens where it is loaded
            page.wait_for_selector(f"#operations-{name.replace('/', '-')} .responses-table")
            page.add_script_tag(path=axe)
            found = page.evaluate("axe.run({resultTypes: ['violations']})")["violations"]
            grave = [each for each in found if each["impact"] in ("serious", "critical")]
            told = [(each["id"], each["impact"], each["nodes"][0]["html"]) for each in grave]
            assert told == []
