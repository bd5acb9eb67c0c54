"""One spec of every picture, with the numbers that it must hold."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np

from service.api.examples.multiverse import MULTIVERSE
from service.reports.charts.arms import arms
from service.reports.charts.calibration import calibration
from service.reports.charts.cumulative import cumulative
from service.reports.charts.discordance import discordance
from service.reports.charts.error_rate import error_rate
from service.reports.charts.forest import Panel, forest, rows_of
from service.reports.charts.multiverse import multiverse
from service.reports.charts.pareto import pareto
from service.reports.charts.power import power_of_rules, power_of_test
from service.reports.charts.ranking import ranking
from service.reports.charts.runs import runs
from service.reports.charts.style import Spec
from service.reports.charts.units import Unit
from service.stats.shared.declaring import registry
from service.words import Language

RANKED: dict[str, Any] = {
    "arms": [
        {"name": "large", "mean": 0.875, "rank": 1, "rank_low": 1, "rank_high": 2, "may_be_best": True},
        {"name": "medium", "mean": 0.6875, "rank": 2, "rank_low": 1, "rank_high": 2, "may_be_best": True},
        {"name": "small", "mean": 0.3125, "rank": 3, "rank_low": 3, "rank_high": 4, "may_be_best": False},
        {"name": "old", "mean": 0.25, "rank": 4, "rank_low": 3, "rank_high": 4, "may_be_best": False},
    ],
    "pairs": [],
    "tied_sets": [["large", "medium"], ["small", "old"], ["medium", "small"]],
}
CALIBRATED: dict[str, Any] = {
    "hypotheses": [
        {
            "hypothesis": "H1a",
            "tells": "type_one_error",
            "rate": 0.021,
            "mc_ci": {"low": 0.013, "high": 0.032},
            "nominal_alpha": 0.05,
        },
        {"hypothesis": "H2", "tells": "power_at_zero", "rate": 0.4, "mc_ci": None, "nominal_alpha": None},
    ]
}
POWERS: dict[str, Any] = {
    "hypothesis": "H1a",
    "sesoi": 0.02,
    "target_power": 0.8,
    "power": [
        {"truth": at / 100, "power": min(1.0, at / (4 + 20 * share)), "discordance": share}
        for share in (0.1, 0.2)
        for at in (0, 2, 4, 6)
    ],
}
MANY_POWERS = [
    {
        **POWERS,
        "hypothesis": hypothesis,
        "power": [
            {"truth": at / 100, "power": 0.1 + 0.1 * at, "discordance": share, "icc": icc, "others": others}
            for share in (0.05, 0.1)
            for others in ("stated", "not_true")
            for at in (0, 2, 4)
        ],
    }
    for hypothesis, icc in (("H1a", None), ("H1b", 0.05))
]
"""Of two hypotheses of a family, eight curves in all."""
PARETO = [
    {"arm": name, "quality": quality, "cost": cost, "quality_low": quality - 0.02, "quality_high": quality + 0.02,
     "cost_low": None, "cost_high": None}
    for name, quality, cost in (("large", 0.86, 2100), ("medium", 0.84, 900), ("small", 0.7, 400), ("old", 0.69, 1500))
]  # fmt: skip
NIGHTS = [
    {
        "number": number,
        "name": f"2027-01-{number:02}",
        "standing": {
            "delta": None if number < 4 else delta,
            "ci": None if number < 4 else {"low": delta - 0.03, "high": delta + 0.03},
        },
        "evidence": None if number < 4 else 0.4 * 10.0 ** max(number - 5, 0),
    }
    for number, delta in enumerate((0, 0, 0, 0.01, -0.01, -0.08, -0.07, -0.09, -0.08), start=1)
]
"""Three reference runs, two like them, and four after a drop."""
ARMS = [
    {"arm": "Baseline", "n": 5, "mean": 0.75, "low": 0.71, "high": 0.79},
    {"arm": "改进", "n": 5, "mean": 0.86, "low": None, "high": None},
]


def analysis(name: str, **changes: Any) -> dict[str, Any]:
    """What a test answers to its example."""
    test = registry.find(name)
    request = test.request.model_validate_json(json.dumps({**test.example, **changes}))
    found: dict[str, Any] = json.loads(test.answer(request).model_dump_json(by_alias=True))["analysis"]
    return found


def followed(n: int = 500) -> dict[str, Any]:
    """A curve over n items."""
    rng = np.random.default_rng(1)
    baseline = (rng.random(n) < 0.62).astype(int)
    candidate = np.where(rng.random(n) < 0.12, 1 - baseline, baseline)
    columns = {"baseline": baseline.tolist(), "candidate": candidate.tolist()}
    return analysis("cumulative-effect", **columns, planned_n=n)


@cache
def specs(language: Language = "en") -> dict[str, Spec]:
    """Every picture by name."""
    compared = analysis("mcnemar")
    rows = rows_of(
        {"mcnemar": compared, "open": {**compared, "ci": {**compared["ci"], "high": None}}}, read="open"
    )
    score = {
        "label": "H2 · t",
        "delta": -240.5,
        "low": -400.2,
        "high": -81.1,
        "level": 0.95,
        "method": "t",
        "read": True,
    }
    curve = followed()
    curve = {**curve, "lines": {**curve["lines"], "margin": 0.02}}
    return {
        "forest": forest([Panel("accuracy", Unit(True), 0.02, rows)], language=language),
        "forest of two endpoints": forest(
            [Panel("accuracy", Unit(True), 0.02, rows), Panel("tokens", Unit(False), 120.0, (score,))],
            subtitle="故障触发的合成",
            language=language,
        ),
        "cumulative": cumulative(curve, binary=True, language=language),
        "arms": arms(ARMS, binary=True, language=language),
        "power of rules": power_of_rules([(POWERS, True)], language=language),
        "power of several rules": power_of_rules([(each, True) for each in MANY_POWERS], language=language),
        "power of non-inferiority": power_of_rules([(POWERS, True)], margins={"H1a": [-0.02]}, language=language),
        "no power": power_of_rules([({"hypothesis": "H1", "reason": "needs a SESOI"}, True)], language=language),
        "power": power_of_test(analysis("power"), language=language),
        "error rate": error_rate(analysis("type-one-error"), language=language),
        "discordance": discordance(compared["counts"], language=language),
        "ranking": ranking(RANKED, binary=True, language=language),
        "runs": runs(
            NIGHTS, every=1000, binary=True, since=6, alarm=9, accepted=-0.01, subtitle="nightly", language=language
        ),
        "pareto": pareto(PARETO, quality="accuracy", cost="tokens", binary=True, language=language),
        "calibration": calibration(CALIBRATED, language=language),
        "multiverse": multiverse(
            MULTIVERSE, MULTIVERSE["hypotheses"][0]["hypothesis"], binary=True, sesoi=0.02, language=language
        ),
    }  # fmt: skip
