"""The page of a verdict as a person sees it: outcome first, pictures, downloads, and on paper."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.screens import CONTRASTS, PHONE
from tests.browser.visits import visit  # noqa: F401  # a fixture
from tests.drawing import mostly_slow
from tests.journeys.conftest import Service, service  # noqa: F401  # a fixture
from tests.journeys.filings import judged
from tests.journeys.plans import items, locked
from tests.journeys.sliced import post as sliced_results
from tests.journeys.sliced import sliced

pytestmark = pytest.mark.browser

SIDEWAYS = """[...document.querySelectorAll('.chart, .chart *')].filter(e => e.scrollWidth > e.clientWidth + 1
  && getComputedStyle(e).overflowX !== 'visible').map(e => e.outerHTML.slice(0, 80))"""
CUT = """[...document.querySelectorAll('table')].filter(e => e.scrollWidth > e.parentElement.clientWidth + 1)
  .map(e => e.className + ' ' + e.scrollWidth + ' ' + e.parentElement.clientWidth)"""
"""Tables that are wider than their place."""
SLICED = 300
INK = "getComputedStyle(document.querySelector('main p')).color"


def several(service: Service) -> str:  # noqa: F811
    """A judged record of two hypotheses, with slices."""
    strata = ["code"] * (SLICED // 2) + ["math"] * (SLICED // 2)
    prereg_id = locked(service.client, sliced(), {"p": {"item_ids": items(SLICED), "strata": strata}})
    for endpoint, every in (("accuracy", 10), ("format", 12)):
        for arm, values in (("A", [0] * SLICED), ("B", [int(at % every == 0) for at in range(SLICED)])):
            assert sliced_results(service, prereg_id, arm, endpoint, values).status_code == 201
    assert service.run_jobs() == 1
    return prereg_id


def test_the_verdict_is_read_from_the_top_with_its_pictures(
    visit: Callable[..., Any],  # noqa: F811
    tmp_path: Path,
) -> None:
    page, asked, complaints = visit(), [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: complaints.append(message.text))
    page.reload(wait_until="networkidle")
    assert page.locator("h1 ~ .lead .outcome").first.inner_text() == "Supported"
    page.get_by_text("Every interval").click()
    forest = page.locator("details.printed .chart img")
    forest.evaluate("image => image.decode()")
    assert forest.bounding_box()["width"] > 300
    curve = page.get_by_alt_text(re.compile("over the first n items"))
    curve.scroll_into_view_if_needed()
    page.wait_for_load_state("networkidle")
    assert curve.evaluate("image => image.naturalWidth") > 300
    assert page.get_by_role("heading", name="Deviations and what they do").is_visible()
    assert "as planned supported" in page.locator("section[aria-labelledby=deviations]").inner_text()
    assert page.get_by_role("link", name=re.compile(r"leaf \d+")).count() >= 3
    assert complaints == []
    address = page.url.partition("/preregistrations")[0]
    assert all(url.startswith(address) for url in asked)
    for link in page.locator(".downloads a").all():
        got = page.request.get(address + link.get_attribute("href"))
        assert got.status == 200, link.get_attribute("href")
        assert len(got.body()) > 500
    for text in page.evaluate(CONTRASTS):
        assert text[1] >= 4.5, text
    page.screenshot(path=tmp_path / "verdict.png", full_page=True)


@pytest.mark.parametrize(
    ("visit", "language"),
    mostly_slow([(several, "en"), (judged, "zh"), (several, "zh"), (judged, "en")]),
    indirect=["visit"],
)
def test_a_verdict_prints_with_its_pictures_in_letters_that_can_be_read(
    visit: Callable[..., Any],  # noqa: F811
    tmp_path: Path,
    language: str,
) -> None:
    page = visit(java_script_enabled=True, color_scheme="dark")
    page.goto(f"{page.url}?lang={language}")  # nothing is scrolled to
    curves = page.locator("section > figure.chart > picture img")
    assert curves.count() == page.locator("section[aria-labelledby^=hypothesis]").count()
    for curve in curves.all():
        assert curve.evaluate("image => image.complete && image.naturalWidth") > 300
    page.emulate_media(media="print")
    letters = "Number.parseFloat(getComputedStyle(document.querySelector('main p')).fontSize) * 0.75"
    assert page.evaluate(letters) >= 8  # points
    assert page.evaluate(INK) == "rgb(27, 30, 34)"
    assert page.evaluate(CUT) == []
    page.pdf(path=tmp_path / "verdict.pdf", format="A4", prefer_css_page_size=True)
    printed = (tmp_path / "verdict.pdf").read_bytes()
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) <= 2


@pytest.mark.slow
def test_a_phone_in_the_dark_shows_all_of_it(visit: Callable[..., Any], tmp_path: Path) -> None:  # noqa: F811
    page = visit(**PHONE, color_scheme="dark")
    page.wait_for_load_state("networkidle")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.evaluate(SIDEWAYS) == []
    page.get_by_text("Every interval").click()
    page.get_by_text("More pictures").click()
    for picture in page.locator(".chart img").all():
        picture.scroll_into_view_if_needed()
        picture.evaluate("image => image.decode()")
        taken = picture.evaluate("image => image.currentSrc")
        assert "shape=narrow" in taken
        assert "theme=both" in taken
        assert picture.evaluate("image => image.naturalWidth") <= 350
    assert page.evaluate(INK) != "rgb(27, 30, 34)"
    page.screenshot(path=tmp_path / "phone.png", full_page=True)
