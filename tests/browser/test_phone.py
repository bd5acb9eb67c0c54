"""Tables of a verdict on a phone, on its page and in its report: they stand within its width, and no word is torn."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.conftest import on_a_socket
from tests.browser.screens import PHONE
from tests.journeys.conftest import Service, service  # noqa: F401  # a fixture
from tests.journeys.plans import items, locked
from tests.journeys.sliced import N, post, sliced

pytestmark = [pytest.mark.browser, pytest.mark.slow]
WIDER = """() => [document.documentElement, ...document.querySelectorAll('.wide')]
  .filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.tagName + ' ' + e.scrollWidth)"""
DRAWN = """() => [...document.querySelectorAll('.slices .strip path:not(.band, .none)')].map(e => {
  const box = e.getBoundingClientRect(), room = e.closest('svg').getBoundingClientRect();
  return box.left >= room.left - 3 && box.right <= room.right + 3 && getComputedStyle(e).stroke !== 'none';
})"""

TORN = """() => [...document.querySelectorAll('.statistics th, .statistics td, .clauses td:last-child')].filter(e => {
  const range = document.createRange();
  range.selectNodeContents(e);
  return range.getClientRects().length > 1;
}).map(e => e.textContent)"""
"""Cells of one word that take more than a line."""


@pytest.mark.parametrize("language", ["en", "zh"])
def test_slices_stand_within_a_phone(chromium: Any, service: Service, language: str) -> None:  # noqa: F811
    strata = ["a slice with a rather long name"] * (N // 2) + ["math"] * (N // 2)
    prereg_id = locked(service.client, sliced(), {"p": {"item_ids": items(N), "strata": strata}})
    for endpoint, every in (("accuracy", 10), ("format", 12)):
        for arm, values in (
            ("A", [int(at % 60 == 1) for at in range(N)]),
            ("B", [int(at % every == 0) for at in range(N)]),
        ):
            assert post(service, prereg_id, arm, endpoint, values).status_code == 201
    assert service.run_jobs() == 1
    with on_a_socket(service.app) as address, chromium.new_context(**PHONE) as context:
        page = context.new_page()
        page.goto(f"{address}/login?lang={language}")
        page.locator("#key").fill(service.key("read"))
        page.keyboard.press("Enter")
        page.wait_for_url("**/preregistrations*")
        page.goto(f"{address}/preregistrations/{prereg_id}")
        assert page.evaluate(WIDER) == []
        drawn = page.evaluate(DRAWN)
        assert drawn == [True] * 8  # an interval and a value for each of two slices of two hypotheses
        page.goto(f"{address}/preregistrations/{prereg_id}/report.html?lang={language}")
        assert page.locator(".slices tbody tr").count() == 4
        # pictures alone: smaller ones were not read
        assert page.evaluate(WIDER) == [
            "FIGURE 576",
            "FIGURE 576",
        ]
        assert page.evaluate(TORN) == []
