"""How several systems stand, in words, a picture of ranks and numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from forelock.questions.figures import METHODS, has_ends, show_difference, show_level
from forelock.questions.form import Form
from forelock.questions.rank_drawing import Ladder, Place
from forelock.text import plain

Json = Mapping[str, Any]
MOST_LETTERS = 12
"""Sets of systems that are not told apart, up to which each has a letter."""
NAMED = 6
RULE = (
    "pairs on the items that both have, all at once by max-T over one sign per {unit}: with chance {level} every tier, "
    "rank and interval is right. Systems of one tier are not told apart; each is behind one of the tier above"
)


def form_of(answer: Json, *, points: bool, slices: Sequence[tuple[str, Json | str]] = ()) -> Form:
    """The answer of a leaderboard, part by part.

    Args:
        points: outcomes are right and wrong, so that means are shares.
        slices: by name the same answer of each slice, or why there is none.
    """
    analysis = answer["analysis"]
    ladder = ladder_of(analysis, points=points)
    tiers = [[place.name for place in places] for _, places in ladder.tiers()] if ladder else []
    unit = "item" if analysis["n_clusters"] is None else "cluster"
    winner = analysis.get("winner") or {}
    level = f"{100 * analysis['arms'][0]['gap']['level']:.10g}%"
    return Form(
        question="rank",
        headline=analysis["sentence"],
        mark="🏁",
        answer={
            "outcome": "ranked",
            "best": [arm["name"] for arm in analysis["arms"] if arm["may_be_best"]],
            "tiers": tiers,
            "winner": winner.get("name"),
            "estimate": winner.get("mean"),
            "low": winner.get("bound"),
            "level": analysis["arms"][0]["gap"]["level"],
            "unit": "share" if points else "score",
            "n": analysis["n"],
        },
        picture=ladder,
        numbers=[*_numbers(analysis, points=points)],
        parts=[
            *(("task", line) for line in _tasks(analysis, points=points)),
            *(("slice", line) for line in _slices(slices, points=points)),
        ],
        done=[RULE.format(unit=unit, level=level)],
        cautions=answer.get("warnings") or (),
        next=_next(analysis),
    )


def ladder_of(analysis: Json, *, points: bool) -> Ladder | None:
    """The systems tier by tier; None of a service of an earlier version, which has no tiers."""
    if any("tier" not in arm for arm in analysis["arms"]):
        return None
    sets = analysis["tied_sets"] if len(analysis["tied_sets"]) <= MOST_LETTERS else []
    letters: dict[str, str] = {}
    for letter, names in zip("abcdefghijkl", sets, strict=False):
        for name in names:
            letters[name] = letters.get(name, "") + letter
    return Ladder([
        Place(
            arm["name"], arm["tier"], arm["rank_low"], arm["rank"], arm["rank_high"],
            show_level(arm["mean"], points=points) + ("*" if arm.get("incomplete") else ""),
            letters.get(arm["name"], ""),
        )
        for arm in analysis["arms"]
    ])  # fmt: skip


def _numbers(analysis: Json, *, points: bool) -> Iterator[tuple[str, str]]:
    def show(value: float) -> str:
        return show_level(value, points=points)

    winner, missing = analysis.get("winner"), analysis.get("missing")
    if winner is not None:
        bound = ""
        if winner["bound"] is not None:
            sign = "at most" if analysis["better"] == "lower" else "at least"
            method = METHODS.get(winner["bound_method"], plain(winner["bound_method"]))
            bound = f"; {sign} {show(winner['bound'])}, since it was chosen as the best ({method})"
        yield "winner", f"{plain(winner['name'])}: {show(winner['mean'])}{bound}"
        if winner["lead"] is not None:
            ends = ""
            if has_ends(winner["ci"]):
                low, high = (show_difference(winner["ci"][end], points=points) for end in ("low", "high"))
                ends = f", {100 * winner['ci']['level']:.10g}% simultaneous interval {low} to {high}"
            lead = show_difference(winner["lead"], points=points)
            yield "runner-up", f"{plain(winner['runner_up'])}: {lead} behind{ends}"
    yield "pairs", f"{analysis['n_apart']} of {len(analysis['pairs'])} told apart"
    within = "" if analysis["n_clusters"] is None else f" in {analysis['n_clusters']} clusters"
    common = "" if missing is None else f", of which {missing['n_common']} have all systems"
    yield "items", f"{analysis['n']}{within}{common}"
    suite = analysis.get("suite")
    if suite is not None:
        spans = f"; {suite['n_spanning']} clusters span tasks" if suite["n_spanning"] else ""
        yield "suite", f"{len(suite['tasks'])} tasks; means are the suite's, items of a task alike{spans}"
    if missing is not None:
        yield from _missing(analysis, missing, points=points)


def _missing(analysis: Json, missing: Json, *, points: bool) -> Iterator[tuple[str, str]]:
    least = min(min(row) for row in missing["shared"])
    yield "missing", f"{missing['share']:.2%} of the outcomes; every two systems share {least} items or more"
    lacking = [arm for arm in analysis["arms"] if arm["incomplete"]]
    if lacking:
        named = ", ".join(f"{plain(arm['name'])} {arm['missing']:.0%}" for arm in lacking[:NAMED])
        more = f" and {len(lacking) - NAMED} more" if len(lacking) > NAMED else ""
        yield "* lacks", f"{named}{more}"
        additive = [
            f"{plain(arm['name'])} {show_level(arm['additive_mean'], points=points)}"
            for arm in lacking[:NAMED]
            if arm["additive_mean"] is not None
        ]
        if additive:
            yield "additive", f"mean as if it had every item: {', '.join(additive)}{more}"


def _tasks(analysis: Json, *, points: bool) -> Iterator[str]:
    """Of each task of a suite who is first there, by means that nothing is tested of, and the place of the best."""
    suite, names = analysis.get("suite"), [arm["name"] for arm in analysis["arms"]]
    if suite is None:
        return
    sign = -1 if analysis["better"] == "lower" else 1
    width = max(len(plain(task["name"])) for task in suite["tasks"])
    for task in suite["tasks"]:
        means = task["means"]
        order = sorted(range(len(means)), key=lambda arm: -sign * means[arm])
        place = 1 + sum(sign * mean > sign * means[0] for mean in means)
        first = f"first {plain(names[order[0]])} {show_level(means[order[0]], points=points)}"
        if place > 1:
            first += f"; {plain(names[0])} {show_level(means[0], points=points)}, place {place}"
        yield f"{plain(task['name']):<{width}}  {first}; n = {task['n']}, weight {task['weight']:.3g}"


def _slices(slices: Sequence[tuple[str, Json | str]], *, points: bool) -> Iterator[str]:
    width = max((len(plain(name)) for name, _ in slices), default=0)
    for name, answer in slices:
        if isinstance(answer, str):
            yield f"{plain(name):<{width}}  not ranked: {plain(answer)}"
            continue
        analysis = answer["analysis"]
        best, first = [arm for arm in analysis["arms"] if arm["may_be_best"]], analysis["arms"][0]
        others = f", one of {len(best)} that may be the best" if len(best) > 1 else ", the best"
        tiers = max(arm["tier"] for arm in analysis["arms"])
        mean = show_level(first["mean"], points=points)
        yield (
            f"{plain(name):<{width}}  first {plain(first['name'])} {mean}{others}; {tiers} tier{'s' * (tiers > 1)}, "
            f"n = {analysis['n']}"
        )


def _next(analysis: Json) -> str:
    arms = analysis["arms"]
    best = [arm["name"] for arm in arms if arm["may_be_best"]]
    if analysis.get("missing") is not None and any(arm["incomplete"] for arm in arms):
        return "--common compares all systems on the items that all have; what failed should count as failed"
    if len(best) > 1:
        return f"{len(best)} systems may be the best: more items tell them apart; of two say more: `forelock gate`"
    return f"{plain(best[0])} is the best on items like these; its own score: `forelock score`"
