"""Every picture is a valid Vega-Lite spec that holds the numbers it was given, and nothing but them."""

from __future__ import annotations

import importlib.resources
import json
import re
from typing import Any
from urllib.parse import quote

import pytest
from jsonschema_rs import Draft7Validator

from service.errors import InvalidData
from service.reports.charts import draw, narrow
from service.reports.charts.cumulative import MOST_POINTS, cumulative, points_of
from service.reports.charts.forest import MOST_INTERVALS, Panel, forest, rows_of
from service.reports.charts.narrow import fold, make_narrow
from service.reports.charts.on_page import for_paper, resize
from service.reports.charts.pareto import frontier, pareto
from service.reports.charts.power import power_of_rules, rule_rows
from service.reports.charts.ranking import ranking
from service.reports.charts.runs import MOST_RUNS, runs
from service.reports.charts.style import DASHES, SERIES, SHAPES, apply_theme, for_both, label, values
from service.reports.charts.units import Unit
from tests.drawing import mostly_slow
from tests.reports.charts.samples import PARETO, RANKED, analysis, followed, specs

NAMES = sorted(specs())


@pytest.fixture(scope="module")
def validator() -> Any:
    schema = importlib.resources.files("altair") / "vegalite" / "v6" / "schema" / "vega-lite-schema.json"
    document = json.loads(schema.read_text("utf-8"), object_hook=_quoted)
    return Draft7Validator(document)


def _quoted(found: dict[str, Any]) -> dict[str, Any]:
    """References as the URIs that they have to be: names of definitions hold brackets."""
    return {**found, "$ref": quote(found["$ref"], safe="#/")} if isinstance(found.get("$ref"), str) else found


def test_a_rule_on_amounts_is_drawn_over_its_ratio() -> None:
    at = {"truth": -0.2, "ratio": 0.8, "cv": 1.0, "power": 0.6, "standard_error": 0.01}
    (row,) = rule_rows({"hypothesis": "H1", "power": [at]})
    assert (row["truth"], row["series"]) == (0.8, "coefficient of variation 1")
    assert "true ratio" in json.dumps(power_of_rules([({"hypothesis": "H1", "power": [at]}, False)]))


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_is_valid_vega_lite_in_both_languages(validator: Any, name: str) -> None:
    for language in ("en", "zh"):
        spec = json.loads(json.dumps(specs(language)[name], allow_nan=False))
        assert [error.message for error in validator.iter_errors(spec)][:3] == []
        draw.refuse_references(spec)
        assert spec["description"]


def test_a_chinese_picture_is_titled_in_chinese() -> None:
    for name in set(NAMES) - {"no power"}:
        english, chinese = (specs(language)[name]["title"]["text"] for language in ("en", "zh"))
        assert re.search("[\u4e00-\u9fff]", chinese), name
        assert english.isascii(), name


def test_every_name_in_the_font_is_drawn_from_it() -> None:
    from fontTools.ttLib import TTFont

    held = set(TTFont(draw.FONTS / "NotoSansSC-Subset.ttf").getBestCmap())
    shown = "".join(json.dumps(each, ensure_ascii=False) for each in specs("zh").values())
    assert {each for each in shown if ord(each) not in held} == set()


def test_colours_are_never_alone() -> None:
    assert len({*map(str, SERIES)}) == len({*map(str, DASHES)}) == len({*SHAPES}) == 6


def test_a_forest_plot_holds_the_intervals_and_marks_open_ends() -> None:
    compared = analysis("mcnemar")
    rows = rows_of({"a": compared, "none": None, "no interval": {"delta": 1.0, "ci": None}})
    assert [(row["delta"], row["low"], row["high"]) for row in rows] == [
        (compared["delta"], compared["ci"]["low"], compared["ci"]["high"])
    ]
    (bounded,) = forest([Panel("x", Unit(True), None, ({**rows[0], "high": None},))])["data"]["values"]
    assert bounded["high"] is None
    assert bounded["to"] > bounded["delta"]
    assert bounded["told"].endswith("∞]")


@pytest.mark.parametrize("others", ["stated", "not_true", "at_goal"])
def test_a_curve_says_in_the_reader_s_language_what_is_true_of_other_hypotheses(others: str) -> None:
    at = {"truth": 0.02, "power": 0.5, "discordance": 0.1, "others": others}
    (row,) = rule_rows({"hypothesis": "H1", "power": [at]}, "zh")
    assert not re.search("[a-z]", row["series"])


def test_an_interval_says_its_level_where_others_have_another() -> None:
    (row,) = rows_of({"a": analysis("mcnemar")})
    both = forest([Panel("x", Unit(True), None, (row, {**row, "label": "b", "level": 0.9}))])["data"][
        "values"
    ]
    assert [datum["told"].rpartition("]")[2] for datum in both] == [", 95%", ", 90%"]
    (alone,) = forest([Panel("x", Unit(True), None, (row,))])["data"]["values"]
    assert alone["told"].endswith("]")


def test_rows_of_the_same_name_stay_apart_and_many_are_cut() -> None:
    (row,) = rows_of({"a": analysis("mcnemar")})
    spec = forest([Panel("x", Unit(True), None, (row,) * (MOST_INTERVALS + 1))])
    names = [each["row"] for each in spec["data"]["values"]]
    assert len(names) == len(set(names)) == MOST_INTERVALS
    assert f"{MOST_INTERVALS} / {MOST_INTERVALS + 1}" in spec["title"]["subtitle"]


def test_a_curve_is_thinned_to_what_can_be_seen_and_keeps_its_ends() -> None:
    found = followed(2000)
    rows = points_of(found)
    assert len(rows) <= MOST_POINTS + 2
    for at, place in ((0, 0), (-1, -1)):
        assert {name: rows[at][name] for name in rows[at]} == {
            name: found["points"][name][place] for name in rows[at]
        }
    assert len(json.dumps(cumulative(found, binary=True))) < 120_000


def test_the_frontier_by_definition() -> None:
    assert frontier(PARETO) == [True, True, True, False]
    twins = [{"quality": 1.0, "cost": 1.0}, {"quality": 1.0, "cost": 1.0}, {"quality": 1.0, "cost": 2.0}]
    assert frontier(twins) == [True, True, False]
    assert frontier(twins, cost_higher=True) == [False, False, True]


def test_tied_sets_are_columns_that_overlap() -> None:
    ties = ranking(RANKED)["hconcat"][2]["data"]["values"]
    found: dict[int, list[str]] = {}
    for row in ties:
        found.setdefault(row["set"], []).append(row["arm"])
    assert list(found.values()) == RANKED["tied_sets"]


def test_many_tied_sets_are_tiers_instead() -> None:
    names = [f"arm {at}" for at in range(15)]
    arms = [{**RANKED["arms"][0], "name": name, "tier": 1 + at // 4} for at, name in enumerate(names)]
    pairs = [[names[at], names[at + 1]] for at in range(14)]
    drawn = ranking({**RANKED, "arms": arms, "tied_sets": pairs})
    assert drawn["hconcat"][2]["encoding"]["x"]["sort"] == ["1", "2", "3", "4"]
    assert {row["tier"] for row in drawn["data"]["values"]} == {"1", "2", "3", "4"}


def test_dark_paper_changes_colours_and_no_data() -> None:
    spec = specs()["forest"]
    dark = apply_theme(spec, "dark")
    assert dark != spec
    assert dark["data"] == spec["data"]
    assert apply_theme(spec, "light") is spec


@pytest.mark.parametrize("name", mostly_slow(NAMES, 6))
def test_a_narrow_picture_fits_a_phone_with_letters_as_large(validator: Any, name: str) -> None:
    for language in ("en", "zh"):
        spec = specs(language)[name]
        before, found = json.dumps(spec), make_narrow(spec)
        assert json.dumps(spec) == before
        assert [error.message for error in validator.iter_errors(json.loads(json.dumps(found)))][:3] == []
        drawn = draw.draw(found, "svg").decode()
        assert float(re.search(r'<svg[^>]* width="([\d.]+)"', drawn)[1]) <= narrow.MOST
        assert min(float(size) for size in re.findall(r'font-size="([\d.]+)px"', drawn)) >= 11
        assert found["description"] == spec["description"]


def test_a_narrow_picture_keeps_long_names_and_what_is_told_of_them() -> None:
    name = "a name as long as one may be, of forty-eight let"
    compared = analysis("mcnemar")
    drawn = draw.draw(
        make_narrow(forest([Panel("e", Unit(True), 0.02, rows_of({name: compared}))])), "svg"
    ).decode()
    assert float(re.search(r'<svg[^>]* width="([\d.]+)"', drawn)[1]) <= narrow.MOST
    assert "[+2.60, +51.72]" in drawn
    assert name[:40] in drawn


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", [""]),
        ("short", ["short"]),
        ("one two three", ["one two", "three"]),
        ("aaaaaaaaaaaa b", ["aaaaaaaa", "aaaa b"]),
        ("故障触发的合成", ["故障触发", "的合成"]),
    ],
)
def test_text_is_folded_at_spaces_and_between_wide_letters(text: str, lines: list[str]) -> None:
    assert fold(text, 8) == lines


def test_names_of_arms_stand_inside_the_picture_of_quality_and_cost() -> None:
    long = [{**row, "arm": row["arm"] * 8} for row in PARETO]
    drawn = draw.draw(make_narrow(pareto(long, quality="q", cost="c", binary=True)), "svg").decode()
    assert float(re.search(r'<svg[^>]* width="([\d.]+)"', drawn)[1]) <= narrow.MOST


def test_a_picture_of_a_page_is_drawn_light_and_turns_dark_with_it() -> None:
    drawn = draw.draw(specs()["forest"], "svg")
    both = for_both(drawn).decode()
    rules = re.search(r"<style>@media \(prefers-color-scheme:dark\)\{(.*)\}</style>", both)[1]
    assert both.replace(f"<style>@media (prefers-color-scheme:dark){{{rules}}}</style>", "") == drawn.decode()
    assert '[fill="#1b1e22"]{fill:#e7e9ec}' in rules
    assert '[stroke="#0072b2"]{stroke:#56b4e9}' in rules


def test_a_picture_has_a_bound() -> None:
    with pytest.raises(InvalidData, match="5000"):
        values([{}] * 5001)


@pytest.mark.parametrize("said", ["a\u0000b", "a\u202eb", "a\ud800b", "a\nb\tc", "x" * 100])
def test_labels_are_short_lines_of_harmless_characters(said: str) -> None:
    shown = label(said)
    assert len(shown) <= 48
    assert not re.search("[\u0000-\u001f\u202e\ud800-\udfff]", shown)


@pytest.mark.parametrize(
    "spec",
    [
        {"data": {"url": "file:///etc/passwd"}},
        {"layer": [{"mark": {"type": "image"}}]},
        {"encoding": {"href": {"value": "x"}}},
        {"usermeta": {}},
    ],
)
def test_what_loads_anything_is_not_drawn(spec: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="loads nothing"):
        draw.draw(spec, "svg")


def test_words_of_others_stay_words_where_they_look_like_references() -> None:
    draw.refuse_references({"data": {"values": [{"url": "file:///etc/passwd", "type": "image"}]}})


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_for_paper_is_valid_and_has_no_colour_where_that_is_asked(
    validator: Any, name: str
) -> None:
    for mm in (85, 180):
        spec = json.loads(json.dumps(for_paper(specs()[name], mm, serif=True, mono=True), allow_nan=False))
        assert [error.message for error in validator.iter_errors(spec)][:3] == []
        assert spec["config"]["font"] == "Libertinus Serif, serif"
        drawn = {key: value for key, value in spec.items() if key != "data"}
        assert not set(SERIES) & set(re.findall("#[0-9a-f]{6}", json.dumps(drawn)))
    assert specs()[name] == json.loads(json.dumps(specs()[name]))


def test_a_drawn_picture_keeps_its_proportion_in_millimetres() -> None:
    svg = '<svg xmlns="http://www.w3.org/2000/svg" version="1.1" width="640" height="320" viewBox="0 0 640 320"></svg>'
    assert 'width="85mm" height="42.50mm" viewBox="0 0 640 320"' in resize(svg, 85)
    with pytest.raises(ValueError, match="begins with its size"):
        resize("<svg></svg>", 85)


@pytest.mark.parametrize(
    ("first", "last", "ticks"),
    [(2, 3, [2, 3]), (1, 1, [1]), (13, 13 + MOST_RUNS, list(range(20, 220, 20)))],
)
def test_runs_are_named_by_whole_numbers_and_none_twice(first: int, last: int, ticks: list[int]) -> None:
    standing = {"ci": None, "delta": 0.0}
    series = [{"number": at, "name": "n", "evidence": 1.0, "standing": standing} for at in (first, last)]
    panels = runs(series, every=1000, binary=True)["vconcat"]
    axes = [json.dumps(panel) for panel in panels]
    assert all(f'"values": {json.dumps(ticks)}' in axis for axis in axes)


def test_the_band_for_every_n_does_not_flatten_the_curve() -> None:
    n = [10 * at for at in range(1, 101)]
    wide = {"sequence_low": [-1.0] * 100, "sequence_high": [1.0] * 100}
    points = {"n": n, "delta": [0.0] * 100, "band_low": [-0.02] * 100, "band_high": [0.02] * 100, **wide}
    spec = cumulative({"points": points, "lines": {}}, binary=True)
    low, high = _y_domain(spec)
    assert -0.06 < low < -0.02
    assert 0.02 < high < 0.06
    unbanded = {**points, "band_low": [None] * 100, "band_high": [None] * 100}
    low, high = _y_domain(cumulative({"points": unbanded, "lines": {}}, binary=True))
    assert low < -1.0
    assert high > 1.0


def test_a_curve_of_one_item_says_that_there_is_none() -> None:
    points = {
        "n": [1, 2, 3],
        "delta": [0.0, None, None],
        "sequence_low": [-1.0] * 3,
        "sequence_high": [1.0] * 3,
    }
    text = json.dumps(cumulative({"points": points, "lines": {"planned_n": 30}}, binary=True))
    assert "There is no curve: it takes the results of two items or more." in text
    assert "anytime" not in text


@pytest.mark.parametrize(("second", "said"), [(0.0, True), (0.3, False)])
def test_power_curves_that_lie_on_one_another_say_so(second: float, said: bool) -> None:
    at = {"truth": 0.02, "standard_error": None}
    power = {
        "hypothesis": "H1",
        "power": [{**at, "discordance": 0.1, "power": 0.0}, {**at, "discordance": 0.2, "power": second}],
    }
    assert ("all 2 curves lie on one another here" in json.dumps(power_of_rules([(power, True)]))) is said
    one = {**power, "power": power["power"][:1]}
    assert "lie on one another" not in json.dumps(power_of_rules([(one, True)]))


def _y_domain(spec: Any) -> Any:
    text = json.dumps(spec)
    return json.loads(text[text.index('"domain": [-') + len('"domain": ') :].partition("]")[0] + "]")
