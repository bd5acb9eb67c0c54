"""The fourfold table of two arms on the same items: where they agree, and which of the two is right where not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from service.reports.charts import style
from service.reports.charts.style import Row, Spec
from service.reports.charts.words import say
from service.words import Language

CELL = 110
CELL_BLUE = "#0072b1"
"""The same on dark paper: its numbers are white."""


def cells_of(counts: Mapping[str, int], language: Language) -> list[Row]:
    """Return the four cells: what each arm did, the count, and its share of all items."""
    right, wrong = say("right", language), say("wrong", language)
    n = sum(counts[key] for key in ("both_correct", "only_baseline", "only_candidate", "both_wrong"))
    return [
        {
            "baseline": before, "candidate": after, "cell": key, "count": counts[key],
            "told": f"{counts[key]:,}", "share": f"{100 * counts[key] / n:.1f} %" if n else "–",
        }
        for key, before, after in (
            ("both_correct", right, right),
            ("only_baseline", right, wrong),
            ("only_candidate", wrong, right),
            ("both_wrong", wrong, wrong),
        )
    ]  # fmt: skip


def discordance(
    counts: Mapping[str, Any],
    *,
    baseline: str | None = None,
    candidate: str | None = None,
    title: str | None = None,
    subtitle: str = "",
    language: Language = "en",
) -> Spec:
    """Return the table, its discordant cells in colour and with a frame: they alone carry the evidence."""
    right, wrong = say("right", language), say("wrong", language)
    names = (baseline or say("baseline", language), candidate or say("candidate", language))
    y = {
        "field": "baseline", "type": "nominal", "sort": [right, wrong],
        "axis": {"title": style.label(names[0]), "ticks": False, "domain": False},
    }  # fmt: skip
    x = {
        "field": "candidate", "type": "nominal", "sort": [right, wrong],
        "axis": {"title": style.label(names[1]), "orient": "top", "labelAngle": 0, "ticks": False, "domain": False},
    }  # fmt: skip
    scale = {
        "domain": ["both_correct", "only_baseline", "only_candidate", "both_wrong"],
        "range": [style.GRID, style.ORANGE, CELL_BLUE, style.GRID],
    }
    colour = {
        "condition": [
            {
                "test": "datum.cell === 'only_candidate'",
                "value": "#fefefe",
            },  # on its own blue, whatever the paper
            {"test": "datum.cell === 'only_baseline'", "value": "#111111"},
        ],
        "value": style.INK,
    }
    return style.figure(
        title or say("discordance", language),
        subtitle,
        {
            "width": 2 * CELL + 80,
            "height": 2 * CELL - 40,
            "data": style.values(cells_of(counts, language)),
            "layer": [
                {
                    "mark": {"type": "rect", "stroke": style.PAPER, "strokeWidth": 1.5},
                    "encoding": {
                        "x": x, "y": y,
                        "color": {"field": "cell", "type": "nominal", "scale": scale, "legend": None},
                    },
                },
                {
                    "mark": {"type": "text", "fontSize": 20, "dy": -7},
                    "encoding": {"x": x, "y": y, "text": {"field": "told"}, "color": colour},
                },
                {
                    "mark": {"type": "text", "fontSize": 12, "dy": 14},
                    "encoding": {"x": x, "y": y, "text": {"field": "share"}, "color": colour},
                },
            ],
        },
    )  # fmt: skip
