"""What changed item by item, once there is a verdict: how the differences lie, by cluster too, and a list to search."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

import numpy as np
from fastapi import APIRouter, Request
from starlette.responses import Response

from service.actions.verdicts import items
from service.actions.verdicts.charts import chosen
from service.api.http.requests.deps import PageSession
from service.api.http.shared import get_services
from service.api.routes.verdicts.verdicts import require_verdict
from service.domain.plans.sections.endpoint import Endpoint
from service.domain.verdicts.item_differences import ItemDifference, bins_of, cluster_differences
from service.errors import InvalidData
from service.store.plans import preregistrations
from service.web.html.rendering import PageRoute, html
from service.web.html.speech import Say, language_of
from service.web.preregistrations import record_view
from service.web.preregistrations.record_page import ONE
from service.web.visitors.sign_in import LIST, Visitor, known
from service.words import message

KINDS = {"lost": "pages.item_lost", "gained": "pages.item_gained", "same": "pages.item_same"}
SHOWN, MOST_SEARCH, MOST_CLUSTERS = 100, 200, 2_000
"""Items on a page, letters of a search, and clusters that are drawn."""
WIDTH = 600
"""Of the drawing of clusters, in its own units."""
FLOOR, HEIGHT = 112, 90
"""Pixels from above to the floor of the bars, and of the tallest of them: above it stands how many it counts."""
MOST_NAMED = 7
"""Bars with a number below and a count above: so many have room on a phone."""
TIE = 1e-12

routes = APIRouter(route_class=PageRoute, include_in_schema=False)


@dataclass(frozen=True, slots=True)
class BarView:
    """A bar of the distribution: where it stands, and how many items it counts."""

    x: float
    """Per cent of the drawing's width, as `width` is; `y` and `height` are pixels."""
    width: float
    y: float
    height: float
    n: int
    label: str
    kind: str
    middle: float
    below: str
    """The difference below the bar; empty where bars stand too close for that, and then its count is not above it."""


@dataclass(frozen=True, slots=True)
class DotView:
    """A cluster at its mean difference."""

    x: float
    radius: float


@routes.get(ONE + "/items")
def show_items(
    request: Request,
    session: PageSession,
    visitor: Visitor,
    preregistration_id: str,
    hypothesis: str = "",
    kind: str = "",
    q: str = "",
    start: int = 0,
) -> Response:
    """The items of a judged hypothesis. Before the verdict they are refused as everywhere."""
    record = preregistrations.get(session, visitor.project_id, known(preregistration_id))
    verdict = require_verdict(session, record).read()
    judged = chosen(verdict, hypothesis or None)
    get_services(request).reads.note(visitor, "results.read", record.id)
    words = q.strip()
    if kind not in ("", *KINDS):
        raise InvalidData.field(
            "kind",
            message("refusals.no_kind_of_item"),
            message("refusals.choose_one", names=", ".join(KINDS)),
        )
    if len(words) > MOST_SEARCH or not 0 <= start <= 10**9:
        raise InvalidData.field(
            "q", message("refusals.longer_than", most=MOST_SEARCH), message("refusals.fewer_words")
        )
    good = -1 if _better_lower(record.plan.endpoint(judged.endpoint)) else 1
    rows = items.differences(session, record, judged.id)
    counts = Counter(kind_of(row, good) for row in rows)
    wanted = words.lower().split()
    chosen_rows = [
        row for row in rows if kind in ("", kind_of(row, good)) and all(word in _text(row) for word in wanted)
    ]
    chosen_rows.sort(key=lambda row: (-abs(row.difference), good * row.difference))
    dots, most = _dots(rows)
    base, query = f"{LIST}/{record.id}/items", {"hypothesis": judged.id, "kind": kind, "q": words}
    following = urlencode({**query, "start": start + SHOWN})
    return html(
        request,
        "items.html",
        visitor=visitor,
        title=record_view.title_of(record.plan.title, Say(language_of(request))),
        back=f"{LIST}/{record.id}",
        base=base,
        asked=query,
        judged=judged,
        hypotheses=[each.id for each in verdict.hypotheses],
        kinds=KINDS,
        counts=counts,
        n=len(chosen_rows),
        rows=[
            (row, _amount(row.difference), kind_of(row, good)) for row in chosen_rows[start : start + SHOWN]
        ],
        value=lambda value: f"{value:.4g}",
        bars=_bars(rows, good),
        dots=dots,
        ends=[_amount(-most), "0", _amount(most)],
        clustered=any(row.cluster is not None for row in rows),
        following=f"{base}?{following}" if start + SHOWN < len(chosen_rows) else "",
    )


def kind_of(row: ItemDifference, good: int) -> str:
    """Tell whether the candidate lost the item, gained it, or has the same as the baseline."""
    change = good * row.difference
    return "same" if abs(change) <= TIE else "gained" if change > 0 else "lost"


def _better_lower(endpoint: Endpoint | None) -> bool:
    return endpoint is not None and endpoint.better == "lower"


def _text(row: ItemDifference) -> str:
    return f"{row.item_id} {row.cluster or ''}".lower()


def _amount(value: float) -> str:
    return "0" if value == 0 else f"{value:+.3g}".replace("-", "−")


def _bars(rows: Sequence[ItemDifference], good: int) -> list[BarView]:
    """Return the distribution of the differences; a bar for each value where they are few."""
    if not rows:
        return []
    bins = bins_of(np.array([row.difference for row in rows]))
    most, width = max(count for _, _, count in bins), 100 / len(bins)
    every = -(-len(bins) // MOST_NAMED)
    bars = []
    for place, (low, high, count) in enumerate(bins):
        middle = good * (low + high) / 2
        kind = "same" if low <= TIE and high >= -TIE else "gained" if middle > 0 else "lost"
        label = _amount(low) if low == high else f"{_amount(low)} … {_amount(high)}"
        height = round(max(HEIGHT * count / most, 1.0), 1) if count else 0.0
        bars.append(
            BarView(
                x=round((place + 0.05) * width, 2),
                width=round(0.9 * width, 2),
                y=round(FLOOR - height, 1),
                height=height,
                n=count,
                label=label,
                kind=kind,
                middle=round((place + 0.5) * width, 2),
                below=_amount((low + high) / 2) if place % every == (len(bins) - 1) % every // 2 else "",
            )
        )
    return bars


def _dots(rows: Sequence[ItemDifference]) -> tuple[list[DotView], float]:
    """Return the clusters from -most to +most, as large as they have items, and what is the most."""
    clusters = cluster_differences(rows)
    if not 0 < len(clusters) <= MOST_CLUSTERS:
        return [], 0.0
    most = max(TIE, *(abs(cluster.difference) for cluster in clusters))
    largest = max(cluster.n for cluster in clusters)
    return [
        DotView(
            x=round(WIDTH / 2 + (WIDTH / 2 - 14) * cluster.difference / most, 1),
            radius=round(3 + 8 * (cluster.n / largest) ** 0.5, 1),
        )
        for cluster in clusters
    ], most
