"""Legends and marks are told apart: no words over one another, no two series alike, a margin where there is one."""

from __future__ import annotations

import itertools
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from service.actions.verdicts.charts import of_powers
from service.domain.plans.plan import Plan
from service.domain.power.answers.records import PowerAt, RulePower
from service.reports.charts import draw
from service.reports.charts.cumulative import cumulative
from service.reports.charts.narrow import MOST, make_narrow
from service.reports.charts.style import SERIES, WIDTH, legend_columns, scale_of
from tests.drawing import mostly_slow
from tests.reports.charts.samples import analysis, specs

LEGENDS = sorted(
    name for name, spec in specs().items() if re.search(r"'legend': \{", str({**spec, "config": None}))
)
SVG = "{http://www.w3.org/2000/svg}"


@cache
def advances() -> dict[int, float]:
    """How wide every letter of the font is, in ems."""
    from fontTools.ttLib import TTFont

    font = TTFont(draw.FONTS / "NotoSansSC-Subset.ttf")
    widths, em = font["hmtx"], font["head"].unitsPerEm
    return {letter: widths[name][0] / em for letter, name in font.getBestCmap().items()}


def width_of(text: str, size: float) -> float:
    return size * sum(advances().get(ord(letter), 1.0) for letter in text)


def moved(
    element: ElementTree.Element, x: float, y: float
) -> Iterator[tuple[ElementTree.Element, float, float]]:
    """Every element with where it stands."""
    transform = element.get("transform", "")
    if transform.startswith("translate("):
        dx, _, dy = transform[10:].partition(")")[0].partition(",")
        x, y = x + float(dx), y + float(dy or 0)
    yield element, x, y
    for each in element:
        yield from moved(each, x, y)


def legend_of(
    spec: dict[str, Any],
) -> tuple[float, list[tuple[float, float, float]], list[tuple[float, float]]]:
    """The width of a picture, left and right ends with heights of a legend's words, and where its symbols stand."""
    root = ElementTree.fromstring(draw.draw(spec, "svg"))
    words, symbols = [], []
    for group in root.iter(f"{SVG}g"):
        kind = group.get("class", "")
        if "role-legend-label" in kind or "role-legend-symbol" in kind:
            group.set("kind", "label" if "label" in kind else "symbol")
    for element, x, y in moved(root, 0.0, 0.0):
        if element.get("kind") == "label":
            for text, left, top in moved(element, x, y):
                if text.tag == f"{SVG}text":
                    size = float(text.get("font-size", "12px").removesuffix("px"))
                    words.append((left, left + width_of("".join(text.itertext()), size), top))
        elif element.get("kind") == "symbol":
            symbols += [(left, top) for path, left, top in moved(element, x, y) if path.tag == f"{SVG}path"]
    return float(root.get("width", "0")), words, symbols


@pytest.mark.parametrize("language", mostly_slow(["en", "zh"], 8))
@pytest.mark.parametrize("shape", mostly_slow([lambda spec: spec, make_narrow], 8), ids=["wide", "narrow"])
@pytest.mark.parametrize("name", mostly_slow(LEGENDS, 8))
def test_words_of_a_legend_overlap_nothing_and_stay_inside(name: str, shape: Any, language: Any) -> None:
    width, words, symbols = legend_of(shape(specs(language)[name]))
    assert len(words) == len(symbols) > 1
    for left, right, top in words:
        assert right <= width + 0.5
        beside = [at for at, height in symbols if abs(height - top) < 8 and at > left]
        assert all(right + 4 < at for at in beside)
    tops = sorted((round(left), top) for left, _, top in words)
    assert all(b[1] - a[1] > 10 for a, b in itertools.pairwise(tops) if a[0] == b[0])


@pytest.mark.parametrize("name", LEGENDS)
def test_a_narrow_picture_with_a_legend_is_no_wider_than_a_phone(name: str) -> None:
    assert legend_of(make_narrow(specs()[name]))[0] <= MOST


def test_a_picture_of_several_rules_has_one_legend_with_every_series_once() -> None:
    _, words, _ = legend_of(specs()["power of several rules"])
    assert len(words) == 8


def test_no_two_series_look_alike_beyond_the_six_colours() -> None:
    names = [str(at) for at in range(6 * len(SERIES))]
    colors, dashes, shapes = (scale_of(names, what)["range"] for what in ("color", "dash", "shape"))
    assert len({(color, shape) for color, shape in zip(colors, shapes, strict=True)}) == len(names)
    assert len({(color, str(dash)) for color, dash in zip(colors, dashes, strict=True)}) == len(names)


def test_long_names_stand_below_one_another_by_definition() -> None:
    assert legend_columns(["a" * 20, "b"]) == 2
    assert legend_columns(["a" * 40, "b"]) == 1
    assert legend_columns(["数" * 20, "b"]) == 1
    assert legend_columns(["a" * 20], WIDTH // 2) == 1


def rulers(spec: dict[str, Any]) -> list[float]:
    layers = spec.get("layer") or [each for panel in spec["vconcat"] for each in panel["layer"]]
    return [
        each["encoding"]["x"]["datum"]
        for each in layers
        if each["mark"]["type"] == "rule" and "x" in each["encoding"]
    ]


@pytest.mark.parametrize(
    ("claim", "better", "margins"),
    [
        ("superiority", "higher", [0.02]),
        ("minimum_effect", "higher", [0.02]),
        ("non_inferiority", "higher", [-0.02]),
        ("equivalence", "higher", [-0.02, 0.02]),
        ("non_inferiority", "lower", [0.02]),
        ("superiority", "lower", [-0.02]),
    ],
)
@pytest.mark.parametrize("truths", [(0.0,), (-0.02, 0.0, 0.02), (0.0, 0.02, 0.04)])
def test_the_power_of_a_rule_is_drawn_with_the_margin_of_its_claim(
    claim: str, better: str, margins: list[float], truths: tuple[float, ...]
) -> None:
    up = (claim == "non_inferiority" and better == "higher") or better == "higher"
    plan = Plan.from_dict(
        {
            "populations": [{"id": "q", "dataset": "D", "n": 60, "independence": "drawn"}],
            "endpoints": [{"id": "a", "kind": "binary", "role": "primary", "better": better}],
            "sesoi": {"a": {"value": 2, "unit": "pp"}},
            "tests": [{"id": "t", "test": "mcnemar", "version": 1}],
            "hypotheses": [
                {
                    "id": "H", "claim": claim, "statement": "s", "population": "q", "baseline": "x", "candidate": "y",
                    "endpoint": "a", "rule": "delta > -2 pp" if up else "delta < 2 pp",
                }
            ],
        }
    )  # fmt: skip
    power = RulePower(
        hypothesis="H",
        method="exact",
        sesoi=0.02,
        power=tuple(PowerAt(discordance=0.1, truth=truth, power=0.5) for truth in truths),
    )
    spec = of_powers(plan, [power], "en")
    assert rulers(spec) == margins
    assert [f"{100 * at:+.1f}".replace("-", "−") in str(spec) for at in margins] == [True] * len(margins)


@pytest.mark.parametrize(("language", "size"), [("en", "interest, ±5.00 pp"), ("zh", "效应量 ±5.00 百分点")])
def test_the_key_of_a_curve_names_the_lines_at_the_smallest_effect(language: Any, size: str) -> None:
    curve = analysis("cumulative-effect", baseline=[0, 1] * 20, candidate=[1, 1, 0, 1] * 10)
    bare, ruled = (
        cumulative(curve | {"lines": curve["lines"] | {"margin": margin}}, binary=True, language=language)
        for margin in (None, 0.05)
    )
    assert len(legend_of(ruled)[1]) == len(legend_of(bare)[1]) + 1
    assert size in draw.draw(ruled, "svg").decode()


def test_a_curve_in_no_locked_order_says_what_may_be_read_from_it() -> None:
    sent, locked = (
        cumulative({**analysis("cumulative-effect"), "order_used": order}, binary=True)["title"]["subtitle"]
        for order in ("unknown", "locked_seed")
    )
    assert "no decision to stop" in " ".join(sent)
    assert "locked with the plan" in " ".join(locked)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_lines_below_a_title_stay_apart_on_a_phone_and_begin_with_no_mark(language: Any) -> None:
    drawn = cumulative(
        analysis("cumulative-effect"), binary=True, subtitle="H1b: bm25 − words, hit", language=language
    )
    lines = make_narrow(drawn)["title"]["subtitle"]
    assert lines[0] == "H1b: bm25 − words, hit"
    assert not [line for line in lines if line[0] in "，：；。、）"]
    assert "".join(lines[1:]).replace(" ", "") == "".join(drawn["title"]["subtitle"][1:]).replace(" ", "")
