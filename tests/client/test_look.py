"""`forelock gate --look`: items are added to a comparison, and its answer may be read after each addition."""

from __future__ import annotations

import hashlib
import json
import math
import re
from pathlib import Path

import numpy as np
import pytest

RNG = np.random.default_rng(11)
N = 240
BASE = (RNG.random(N) < 0.5).astype(int)
GAINED = np.where(RNG.random(N) < 0.3, 1, BASE)


def write(name, values, items=None, *, clusters=None):
    items = range(len(values)) if items is None else items
    rows = [
        f"q{item},{'' if values[item] is None else values[item]}"
        + (f",r{item // clusters}" if clusters else "")
        for item in items
    ]
    Path(name).write_text("\n".join(["item_id,value" + ",repo" * bool(clusters), *rows]) + "\n")
    return name


def pair(upto=N, since=0, baseline=BASE, candidate=GAINED, **more):
    items = range(since, upto)
    return write("a.csv", baseline, items, **more), write("b.csv", candidate, items, **more)


def asked(shell, *arguments):
    """The answer as JSON, and the exit status."""
    status, output, errors = shell("gate", *arguments, "--json")
    assert errors == "", errors
    return status, json.loads(output)


def ends_by_definition(differences, alpha, sizes=None, cap=1):
    """Waudby-Smith and Ramdas's theorem 3 step by step: both ends of the running intersection, by a fine grid."""
    sizes = [1] * len(differences) if sizes is None else sizes
    grid = np.linspace(-1, 1, 20_001)
    kept = np.ones(len(grid), dtype=bool)
    for sign in (1, -1):
        capital = np.ones(len(grid))
        mean_sum, squares, variance = 0.5, 0.25, 0.25
        for t, (total, size) in enumerate(zip(differences, sizes, strict=True), start=1):
            y = (sign * total / cap + 1) / 2
            bet = math.sqrt(2 * math.log(2 / alpha) / (variance * t * math.log(t + 1)))
            against = sign * grid
            with np.errstate(divide="ignore"):
                stake = np.minimum(bet, 0.5 / ((1 + against) / 2))
            capital *= 1 + stake * (sign * total / cap - against * size / cap) / 2
            kept &= capital / 2 < 1 / alpha
            mean_sum += y
            squares += (y - mean_sum / (t + 1)) ** 2
            variance = squares / (t + 1)
    return grid[kept].min(), grid[kept].max()


def in_order(items):
    return sorted(items, key=lambda item: hashlib.sha256(f"q{item}".encode()).digest())


def test_the_interval_is_the_definitions_over_the_items_of_all_looks_in_their_order(shell):
    asked(shell, *pair(100), "--look", "grown")
    _, answer = asked(shell, *pair(), "--look", "grown")
    order = [*in_order(range(100)), *in_order(range(100, N))]
    low, high = ends_by_definition([int(GAINED[item] - BASE[item]) for item in order], 0.05)
    assert answer["ci"]["low"] == pytest.approx(low, abs=2e-4)
    assert answer["ci"]["high"] == pytest.approx(high, abs=2e-4)
    assert answer["delta"] == pytest.approx(float((GAINED - BASE).mean()))
    assert [each["added"] for each in answer["looks"]] == [100, 140]
    assert [each["n"] for each in answer["looks"]] == [100, 240]


def test_clusters_come_whole_and_are_one_bet_each(shell):
    _, answer = asked(shell, *pair(clusters=4), "--look", "grown", "--cluster", "repo")
    order = sorted(range(N // 4), key=lambda place: hashlib.sha256(f"r{place}".encode()).digest())
    sums = [int((GAINED - BASE)[4 * place : 4 * place + 4].sum()) for place in order]
    low, high = ends_by_definition(sums, 0.05, [4] * len(sums), cap=4)
    assert (answer["ci"]["low"], answer["ci"]["high"]) == pytest.approx((low, high), abs=2e-4)
    assert answer["n_clusters"] == 60


@pytest.mark.parametrize(
    ("candidate", "outcome", "status"),
    [(GAINED, "better", 0), (1 - BASE * 0, "better", 0), (BASE * 0, "worse", 10), (BASE, "no_worse", 0)],
)
def test_what_is_shown_is_the_gates_outcome_and_exit_status(shell, candidate, outcome, status):
    margin = ("--margin", "20pp") if outcome == "no_worse" else ()
    told, answer = asked(shell, *pair(candidate=candidate), "--look", "grown", *margin)
    assert (told, answer["outcome"], answer["answer"]["outcome"]) == (status, outcome, outcome)
    assert answer["question"] == "gate"
    turned, mirrored = asked(shell, *pair(candidate=candidate), "--look", "turned", "--lower", *margin)
    assert mirrored["outcome"] == {"better": "worse", "worse": "better"}.get(outcome, outcome)
    assert turned == (10 if mirrored["outcome"] == "worse" else 0)


def test_looking_again_never_widens_the_interval_and_new_items_alone_do_as_well(shell):
    before = (-1.0, 1.0)
    for upto in (30, 60, 120, 240):
        _, answer = asked(shell, *pair(upto, upto // 2), "--look", "pieces")
        _, whole = asked(shell, *pair(upto), "--look", "whole") if upto > 30 else (0, None)
        now = (answer["ci"]["low"], answer["ci"]["high"])
        assert before[0] <= now[0] + 1e-12
        assert now[1] <= before[1] + 1e-12
        before = now
    assert whole is not None
    status, again = asked(shell, *pair(), "--look", "whole")
    assert (again["looks"], status) == (whole["looks"], 0)


def test_the_price_is_in_items(shell):
    _, answer = asked(shell, *pair(), "--look", "grown")
    _, once = asked(shell, *pair())
    ratio = (once["ci"]["high"] - once["ci"]["low"]) / (answer["ci"]["high"] - answer["ci"]["low"])
    assert answer["price"]["items_read_once"] == round(N * ratio**2)
    assert 0 < answer["price"]["share"] < 1
    output = shell("gate", "a.csv", "b.csv", "--look", "grown")[1]
    assert f"takes about {round(N * ratio**2)} of these 240 items" in " ".join(output.split())


def test_what_is_in_stays_as_it_came(shell):
    held = [None, *BASE[1:]]
    asked(shell, *pair(200, baseline=held), "--look", "grown")
    kept = Path("grown.look.json").read_text()
    _, answer = asked(shell, *pair(200), "--look", "grown")
    assert (answer["late"], answer["n"], answer["n_missing"]) == (1, 199, 1)
    assert Path("grown.look.json").read_text() == kept
    other = BASE.copy()
    other[7] = 1 - other[7]
    status, _, errors = shell("gate", *pair(baseline=other), "--look", "grown")
    assert (status, "another result of item 'q7'" in errors) == (2, True)
    assert Path("grown.look.json").read_text() == kept


def test_settings_are_those_of_the_first_look(shell):
    asked(shell, *pair(100), "--look", "grown", "--margin", "2pp", "--alpha", "0.1")
    _, answer = asked(shell, *pair(), "--look", "grown")
    assert (answer["margin"], answer["ci"]["level"]) == (0.02, 0.9)
    for changed in (
        ("--margin", "3pp"),
        ("--alpha", "0.2"),
        ("--range", "0..2"),
        ("--lower",),
        ("--missing", "fail"),
    ):
        status, _, errors = shell("gate", "a.csv", "b.csv", "--look", "grown", *changed)
        assert (status, "other settings" in errors) == (2, True), changed


def test_clusters_in_parts_or_beyond_the_first_looks_are_refused(shell):
    options = ("--look", "grown", "--cluster", "repo")
    asked(shell, *pair(98, clusters=4), *options)
    status, _, errors = shell("gate", *pair(clusters=4), *options)
    assert (status, "cluster 'r24' came at an earlier look" in errors) == (2, True)
    status, _, errors = shell("gate", *pair(98, clusters=3), *options)
    assert (status, "another cluster of item 'q3'" in errors) == (2, True)
    write("a.csv", BASE, range(100, N), clusters=50)
    write("b.csv", GAINED, range(100, N), clusters=50)
    status, _, errors = shell(
        "gate", "a.csv", "b.csv", "--look", "other", "--cluster", "repo", "--largest-cluster", "8"
    )
    assert (status, "--largest-cluster" in errors) == (2, True)
    status, _, errors = shell("gate", *pair(), "--look", "grown")
    assert (status, "clusters come or go" in errors) == (2, True)


def test_missing_results_may_take_a_claim_and_never_give_one(shell):
    fewer = [None if at % 8 == 0 else value for at, value in enumerate(BASE * 0 + 1)]
    baseline = [1 if at % 6 else 0 for at in range(N)]
    status, answer = asked(shell, *pair(baseline=baseline, candidate=fewer), "--look", "grown")
    _, full = asked(shell, *pair(baseline=baseline, candidate=BASE * 0 + 1), "--look", "full")
    assert full["outcome"] == "better"
    assert (status, answer["outcome"]) == (12, "cannot_tell")
    assert [each["code"] for each in answer["cautions"]] == ["MISSING_RESULTS"]
    _, failed = asked(
        shell, *pair(baseline=baseline, candidate=fewer), "--look", "failed", "--missing", "fail"
    )
    assert (failed["n"], failed["n_missing"], failed["outcome"]) == (N, 0, "cannot_tell")


def test_scores_need_their_range_before_they_are_looked_at(shell):
    scores = [1 + at % 5 for at in range(N)]
    files = pair(baseline=scores, candidate=scores)
    status, _, errors = shell("gate", *files, "--look", "grown")
    assert (status, "--range" in errors) == (2, True)
    _, answer = asked(shell, *files, "--look", "grown", "--range", "1..5", "--margin", "1score")
    assert (answer["outcome"], answer["answer"]["unit"]) == ("no_worse", "score")
    beyond = [*scores, 9]
    status, _, errors = shell(
        "gate", *pair(N + 1, N, baseline=beyond, candidate=beyond), "--look", "grown", "--range", "1..5"
    )
    assert (status, "q240" in errors) == (2, True)


@pytest.mark.parametrize(
    "content", ["", "[]", '{"looks": [{}], "settings": {}}', '{"looks": 3}', "[" * 100_000]
)
def test_a_file_that_is_no_comparison_is_refused(shell, content):
    Path("grown.look.json").write_text(content)
    status, _, errors = shell("gate", *pair(), "--look", "grown")
    assert (status, "is no comparison that grows" in errors) == (2, True)


def first_look(shell):
    shell("gate", *pair(40), "--look", "grown")
    return json.loads(Path("grown.look.json").read_text())


@pytest.mark.parametrize(
    "damage",
    [
        lambda kept: kept["settings"].update(range={"low": "a", "high": 1}),
        lambda kept: kept["settings"].update(range=None),
        lambda kept: kept["settings"].update(margin=0.02),
        lambda kept: kept["settings"].update(largest_cluster="two"),
        lambda kept: kept["looks"][0]["baseline"].__setitem__(0, "1"),
        lambda kept: kept["looks"][0]["baseline"].__setitem__(0, 2**2000),
        lambda kept: kept["looks"][0]["items"].__setitem__(0, {}),
        lambda kept: kept["looks"][0]["items"].__setitem__(0, "\ud800"),
        lambda kept: kept["looks"][0]["clusters"].pop(),
        lambda kept: kept["looks"][0]["told"].update(ci=[0, 1]),
    ],
)
def test_a_damaged_comparison_is_refused(shell, damage):
    kept = first_look(shell)
    damage(kept)
    Path("grown.look.json").write_text(json.dumps(kept))
    status, _, errors = shell("gate", *pair(60), "--look", "grown")
    assert (status, "is no comparison that grows" in errors) == (2, True)


@pytest.mark.parametrize(
    "options",
    [
        ("--series", "x"),
        ("--slice", "repo"),
        ("--items",),
        ("--unpaired",),
        ("--plan", "p"),
        ("--unseen", "clusters"),
    ],
)
def test_options_that_a_look_does_not_have_are_refused(shell, options):
    status, _, errors = shell("gate", *pair(), "--look", "grown", *options)
    assert (status, "--look" in errors) == (2, True)
    assert not Path("grown.look.json").exists()


def test_nothing_paired_is_no_answer_and_one_item_no_claim(shell):
    nothing = [None] * N
    status, *_ = shell("gate", *pair(candidate=nothing), "--look", "none")
    assert status in (2, 12)
    status, answer = asked(shell, *pair(1), "--look", "one")
    assert (status, answer["outcome"], answer["n"]) == (12, "cannot_tell", 1)


@pytest.mark.parametrize(
    ("candidate", "more", "line", "rest"),
    [
        (GAINED, (), "b.csv beat a.csv: +11.67 pp (95% confidence sequence +", ""),
        (BASE, (), "Cannot tell whether b.csv is better or worse than a.csv: +0.00 pp (95% confidence",
         "The sequence holds 0: neither a gain nor a loss is ruled out."),
        (BASE, ("--margin", "20pp"), "b.csv is no worse than a.csv within 20.00 pp: +0.00 pp (",
         "Not shown: that b.csv is better."),
        (BASE, ("--margin", "1pp"), "Cannot tell whether b.csv is no worse than a.csv within 1.00 pp: ",
         "The sequence holds 0 and reaches -1.00 pp: neither a gain nor a loss is ruled out, nor is a loss of the "
         "margin."),
        (BASE * 0, ("--margin", "2pp"), "b.csv is worse than a.csv: -",
         "Shown as well: a loss beyond the margin of 2.00 pp."),
        (BASE * 0, ("--lower", "--margin", "2pp"), "b.csv beat a.csv (lower is better): -", ""),
        (1 - BASE * 0, ("--lower", "--margin", "2pp"), "b.csv is worse than a.csv (lower is better): +",
         "Shown as well: a loss beyond the margin of 2.00 pp."),
        ([None, *GAINED[1:60], *[None] * (N - 60)], (), "Cannot tell whether b.csv is better or worse", None),
    ],
)  # fmt: skip
def test_a_look_begins_with_a_headline_and_what_is_open(shell, candidate, more, line, rest):
    _, answer = asked(shell, *pair(candidate=candidate), "--look", "grown", *more)
    assert answer["headline"].startswith(line)
    assert not answer["headline"].endswith(".")
    assert rest is None or answer["open"] == rest
    assert answer["sentence"].endswith(".")
    assert answer["headline"] not in answer["sentence"]


def test_a_look_is_answered_in_chinese_where_that_is_asked(shell):
    shell("gate", *pair(100), "--look", "grown", "--margin", "1pp")
    gaps = [None if at % 9 == 0 else value for at, value in enumerate(GAINED)]
    _, output, errors = shell(
        "gate", *pair(since=100, candidate=gaps), "--look", "grown", "--lang", "zh", "--explain"
    )
    assert errors == ""
    assert output.splitlines()[0].startswith(("b.csv 优于 a.csv：", "无法判定 b.csv 是否不劣于 a.csv"))
    for words in ("置信序列", "代价", "查看", "增加 100 个", "没有结果", "下一步：", "探索性", "对冲资本"):
        assert words in output
    # how files were read is English
    ours = [line for line in output.splitlines() if not line.startswith("说明：")]
    prose = " ".join(ours).replace("Waudby-Smith", "").replace("Ramdas", "")
    assert not re.search(r"[a-z]{4,} [a-z]{3,} [a-z]{3,}", prose), prose


def test_the_picture_has_an_interval_for_every_look(shell):
    for upto in (60, 120, 240):
        shell("gate", *pair(upto), "--look", "grown", "--svg", "grown.svg", "--markdown", "grown.md")
    drawn = Path("grown.svg").read_text()
    assert [f"n = {upto}" in drawn for upto in (60, 120, 240)] == [True] * 3
    assert Path("grown.md").read_text().startswith("### ✅ b.csv beat a.csv: ")
