"""How soon the pages are seen: first paint and load in Chromium, with a cold and a warm cache, and pictures of them.

`python -m benchmarks.pages [--pictures DIR]` starts the service on loopback with records of its own.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.servers import Served, service
from tests.browser.conftest import CHROMIUM, FLAGS
from tests.journeys.fewer_items import FEWER
from tests.journeys.filings import filing
from tests.journeys.plans import draft, idempotent, items, locked, post, small_plan
from tests.journeys.sliced import sliced
from tests.web.requests_of_width import WIDE

RUNS = 7
N = 300
PHONE, DESK = 390, 1280
TIMES = """() => new Promise(done => new PerformanceObserver((list, observer) => {
  const [shown] = list.getEntriesByName('first-contentful-paint');
  if (!shown) return;
  observer.disconnect();
  const [whole] = performance.getEntriesByType('navigation');
  done([shown.startTime, whole.loadEventEnd, whole.decodedBodySize]);
}).observe({type: 'paint', buffered: true}))"""
RECORDS = "/v1/preregistrations"


@dataclass(frozen=True, slots=True)
class Records:
    """The records of the pages, by id."""

    draft: str
    collecting: str
    judged: str
    sliced: str


def main() -> int:
    """Print a table of the pages; with `--pictures` keep a picture of each, wide and narrow, light and dark."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pages", description=__doc__)
    parser.add_argument("--pictures", type=Path, help="keep pictures of the pages in this directory")
    parser.add_argument("--runs", type=int, default=RUNS, help=f"visits of each page ({RUNS})")
    chosen = parser.parse_args()
    if CHROMIUM is None:
        sys.stderr.write("Chromium is not installed (Debian: apt-get install chromium)\n")
        return 1
    with service() as served, sync_playwright() as playwright:
        with served.client() as client:
            made = seeded(client)
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        signed_in = sign_in(browser, served)
        if chosen.runs:
            sys.stdout.write(
                "| Page | HTML, kB | First paint, ms | Loaded, ms | First paint again, ms |\n|---|---|---|---|---|\n"
            )
        for name, path in paths(made):
            if chosen.runs:
                shown, whole, again, size = measured(browser, signed_in, served.url + path, chosen.runs)
                sys.stdout.write(
                    f"| {name} | {size / 1000:.0f} | {shown:.0f} | {whole:.0f} | {again:.0f} |\n"
                )
                sys.stdout.flush()
        if chosen.pictures:
            keep(browser, signed_in, served.url, made, chosen.pictures)
        browser.close()
    return 0


def seeded(client: httpx.Client) -> Records:
    """A draft, a record that collects, and two that are judged: one of two hypotheses with slices and a deviation."""
    kept: Any = client
    unfinished = draft(kept, small_plan(40))
    collecting = locked(kept, small_plan(40))
    post(kept, collecting, "A", items(30), [at % 2 for at in range(30)])
    simple = locked(kept, small_plan(200))
    for arm, every in (("A", 3), ("B", 2)):
        post(kept, simple, arm, items(200), [int(at % every == 0) for at in range(200)])
    strata = ["code"] * (N // 2) + ["math"] * (N // 2)
    wide = locked(kept, sliced(), {"p": {"item_ids": items(N), "strata": strata}})
    for endpoint, every in (("accuracy", 10), ("format", 12)):
        for arm, values in (
            ("A", [int(at % 60 == 1) for at in range(N)]),
            ("B", [int(at % every == 0) for at in range(N)]),
        ):
            sent = {"arm": arm, "endpoint": endpoint, "item_ids": items(N), "values": values}
            client.post(f"{RECORDS}/{wide}/results", json=sent, headers=idempotent()).raise_for_status()
    for each in (simple, wide):
        until_judged(client, each)
    client.post(f"{RECORDS}/{wide}/deviations", json=filing(FEWER)).raise_for_status()
    return Records(unfinished, collecting, simple, wide)


def until_judged(client: httpx.Client, prereg_id: str) -> None:
    """Wait for the verdict."""
    for _ in range(300):
        if client.get(f"{RECORDS}/{prereg_id}").json()["state"] == "judged":
            return
        time.sleep(0.2)
    raise RuntimeError(f"{prereg_id} is not judged")


def paths(made: Records) -> Iterator[tuple[str, str]]:
    """The pages that are measured, by name."""
    record = "/preregistrations"
    yield "List", record
    yield "Plan", f"{record}/{made.draft}/plan"
    yield "Collecting", f"{record}/{made.collecting}"
    yield "What is not in yet", f"{record}/{made.collecting}/missing"
    yield "Verdict", f"{record}/{made.judged}"
    yield "Verdict of two hypotheses with slices", f"{record}/{made.sliced}"
    yield "Items gained and lost", f"{record}/{made.judged}/items"
    yield "Overview", "/overview"
    yield "Questions", "/questions"
    yield "Catalogue of tests", "/tests"
    yield "A test", "/tests/mcnemar"
    yield "Leaderboard", "/leaderboards"
    yield "Wizard", "/plans/new"


def sign_in(browser: Browser, served: Served) -> Any:
    """What a browser keeps of being signed in."""
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(f"{served.url}/login")
        page.fill("input[name=key]", served.key)
        page.keyboard.press("Enter")
        page.wait_for_url("**/preregistrations")
        return context.storage_state()


def measured(browser: Browser, signed_in: Any, url: str, runs: int) -> tuple[float, float, float, int]:
    """Medians in ms from the request to the first text or picture, to the end of loading, and again to the first text.

    And the page's bytes. Every visit is of a new browser profile, which has nothing in its cache; it opens the page
    twice.
    """
    shown, whole, again, size = [], [], [], 0
    for at in range(runs + 1):
        with browser.new_context(storage_state=signed_in, viewport={"width": DESK, "height": 900}) as context:
            page = context.new_page()
            page.goto(url, wait_until="load")
            first, loaded, size = page.evaluate(TIMES)
            page.goto(url, wait_until="load")
            second = page.evaluate(TIMES)[0]
        if at:  # the first visit lets the server draw what it remembers for the others
            shown.append(first)
            whole.append(loaded)
            again.append(second)
    return statistics.median(shown), statistics.median(whole), statistics.median(again), size


def keep(browser: Browser, signed_in: Any, url: str, made: Records, place: Path) -> None:
    """A picture of every page at two widths, light and dark, in English and Chinese; says what overflows."""
    place.mkdir(parents=True, exist_ok=True)
    record = "/preregistrations"
    shown: Mapping[str, str] = {
        "list": record, "plan": f"{record}/{made.draft}/plan", "collecting": f"{record}/{made.collecting}",
        "missing": f"{record}/{made.collecting}/missing", "verdict": f"{record}/{made.judged}",
        "slices": f"{record}/{made.sliced}", "items": f"{record}/{made.judged}/items",
        "judged-plan": f"{record}/{made.judged}/plan", "draft": f"{record}/{made.draft}", "overview": "/overview",
        "questions": "/questions", "catalogue": "/tests", "test": "/tests/mcnemar", "series": "/series",
        "leaderboard": "/leaderboards", "wizard": "/plans/new", "jobs": "/jobs", "audit": "/audit",
        "keys": "/keys", "sign-in": "/login",
    }  # fmt: skip
    for width in (PHONE, DESK):
        for scheme in ("light", "dark"):
            for language in ("en", "zh"):
                with browser.new_context(
                    storage_state=None, viewport={"width": width, "height": 844}, color_scheme=scheme
                ) as out:
                    page = out.new_page()
                    page.goto(f"{url}/login?lang={language}")
                    page.screenshot(path=place / f"sign-in-{width}-{scheme}-{language}.png", full_page=True)
                with browser.new_context(
                    storage_state=signed_in, viewport={"width": width, "height": 844}, color_scheme=scheme
                ) as context:
                    page = context.new_page()
                    for name, path in shown.items():
                        if name == "sign-in":
                            continue
                        page.goto(f"{url}{path}?lang={language}")
                        act(page, name)
                        if name in ("verdict", "slices") and (width, scheme) == (DESK, "light"):
                            page.pdf(path=place / f"{name}-{language}.pdf", prefer_css_page_size=True)
                        shot(page, place / f"{name}-{width}-{scheme}-{language}.png", width)


def act(page: Page, name: str) -> None:
    """What a visitor does on the page before it is looked at."""
    if name == "test":
        page.locator("form[action*='/tests/'] button, main form button").first.click()
        page.wait_for_load_state("networkidle")
    if name == "leaderboard":
        page.fill("textarea", WIDE)
        page.locator("main form button").first.click()
        page.wait_for_load_state("networkidle")
    for each in page.locator("details.more > summary").all():
        each.click()
    for each in page.locator(".chart img").all():
        each.scroll_into_view_if_needed()
        each.evaluate("image => image.decode()")


def shot(page: Page, path: Path, width: int) -> None:
    """Its picture; what is wider than the window, or moved sideways in its box, is named."""
    page.screenshot(path=path, full_page=True)
    over = page.evaluate("document.documentElement.scrollWidth")
    moved = page.evaluate(
        "[...document.querySelectorAll('.wide, .json')].filter(e => e.scrollWidth > e.clientWidth + 1)"
        ".map(e => (e.closest('.chart') ? 'chart ' : '') + (e.getAttribute('aria-label') || e.className).slice(0, 40)"
        " + ' ' + e.scrollWidth + '>' + e.clientWidth)"
    )
    if over > width or moved:
        sys.stdout.write(f"{path.name}: page {over}, moved sideways: {moved}\n")


if __name__ == "__main__":
    sys.exit(main())
