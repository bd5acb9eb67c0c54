"""How several systems stand, in words, a picture of ranks and numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from forelock.questions.forms.figures import METHODS, show_level
from forelock.questions.forms.form import Form
from forelock.questions.forms.headlines import of_ranking
from forelock.questions.pictures.rank_drawing import HEADS, Ladder, Place
from forelock.text import plain
from forelock.words import ENGLISH, Say

Json = Mapping[str, Any]
MOST_LETTERS = 12
"""Sets of systems that are not told apart, up to which each has a letter."""
NAMED = 6


def form_of(
    answer: Json, *, points: bool, slices: Sequence[tuple[str, Json | str]] = (), say: Say = ENGLISH
) -> Form:
    """Return the answer of a leaderboard, part by part.

    Args:
        points: outcomes are right and wrong, so that means are shares.
        slices: by name the same answer of each slice, or why there is none.
    """
    analysis = answer["analysis"]
    ladder = ladder_of(analysis, points=points, say=say)
    tiers = [[place.name for place in places] for _, places in ladder.tiers()] if ladder else []
    unit = "items" if analysis["n_clusters"] is None else "clusters"
    winner = analysis.get("winner") or {}
    level = f"{100 * analysis['arms'][0]['gap']['level']:.10g}%"
    line, rest = of_ranking(analysis, points=points, say=say)
    return Form(
        question="rank",
        headline=line or analysis["sentence"],  # a service of an earlier version has no winner
        open=rest,
        sentence=analysis["sentence"] if line else "",
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
        numbers=[*_list_numbers(analysis, say, points=points)],
        parts=[
            *(("task", line) for line in _tasks(analysis, say, points=points)),
            *(("slice", line) for line in _list_slices(slices, say, points=points)),
        ],
        done=[say(f"rule_{unit}", level=level)],
        cautions=answer.get("warnings") or (),
        next=_next(analysis, say),
        status=say("exploratory"),
    )


def ladder_of(analysis: Json, *, points: bool, say: Say) -> Ladder | None:
    """Return the systems tier by tier; None of a service of an earlier version, which has no tiers."""
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
    ], heads={head: say.name(head) for head in HEADS})  # fmt: skip


def _list_numbers(analysis: Json, say: Say, *, points: bool) -> Iterator[tuple[str, str]]:
    """Yield the numbers below the picture: the winner, pairs apart, items, tasks of a suite, what is missing."""
    winner, missing = analysis.get("winner"), analysis.get("missing")
    if winner is not None:
        yield from _winner(analysis, winner, say, points=points)
    yield "pairs", say("apart", n=analysis["n_apart"], pairs=len(analysis["pairs"]))
    items = str(analysis["n"])
    if analysis["n_clusters"] is not None:
        items = say("n_in_clusters", n=items, clusters=analysis["n_clusters"])
    yield "items", items if missing is None else say("common", items=items, n=missing["n_common"])
    suite = analysis.get("suite")
    if suite is not None:
        text = say("suite_of_tasks", n=len(suite["tasks"]))
        spans = suite["n_spanning"]
        yield "suite", say("spanning", suite=text, n=spans) if spans else text
    if missing is not None:
        yield from _list_missing(analysis, missing, say, points=points)


def _winner(analysis: Json, winner: Json, say: Say, *, points: bool) -> Iterator[tuple[str, str]]:
    name, mean = plain(winner["name"]), show_level(winner["mean"], points=points)
    if winner["bound"] is None:
        yield "winner", say("winner", name=name, mean=mean)
    else:
        key = "winner_at_most" if analysis["better"] == "lower" else "winner_at_least"
        method = say.method(METHODS.get(winner["bound_method"], plain(winner["bound_method"])))
        bound = show_level(winner["bound"], points=points)
        yield "winner", say(key, name=name, mean=mean, bound=bound, method=method)


def _list_missing(analysis: Json, missing: Json, say: Say, *, points: bool) -> Iterator[tuple[str, str]]:
    """List what systems lack of the items, and what they would reach by an additive model."""
    least = min(min(row) for row in missing["shared"])
    yield "missing", say("missing_share", share=f"{missing['share']:.2%}", n=least)
    lacking = [arm for arm in analysis["arms"] if arm["incomplete"]]

    def and_more(names: str) -> str:
        return names if len(lacking) <= NAMED else say("and_more", names=names, n=len(lacking) - NAMED)

    if lacking:
        yield (
            "* lacks",
            and_more(
                say("names").join(f"{plain(arm['name'])} {arm['missing']:.0%}" for arm in lacking[:NAMED])
            ),
        )
        additive = [
            f"{plain(arm['name'])} {show_level(arm['additive_mean'], points=points)}"
            for arm in lacking[:NAMED]
            if arm["additive_mean"] is not None
        ]
        if additive:
            yield "additive", say("additive", names=and_more(say("names").join(additive)))


def _tasks(analysis: Json, say: Say, *, points: bool) -> Iterator[str]:
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
        mean = show_level(means[order[0]], points=points)
        first = say("task_first", arm=plain(names[order[0]]), mean=mean)
        if place > 1:
            own = show_level(means[0], points=points)
            first = say("task_place", first=first, arm=plain(names[0]), mean=own, place=place)
        weight = f"{task['weight']:.3g}"
        yield f"{plain(task['name']):<{width}}  " + say("task_line", first=first, n=task["n"], weight=weight)


def _list_slices(slices: Sequence[tuple[str, Json | str]], say: Say, *, points: bool) -> Iterator[str]:
    """List for every slice who is first, and among how many tiers, or why nobody is."""
    width = max((len(plain(name)) for name, _ in slices), default=0)
    for slice_name, answer in slices:
        name = f"{plain(slice_name):<{width}}"
        if isinstance(answer, str):
            yield say("not_ranked", name=name, reason=plain(answer))
            continue
        analysis = answer["analysis"]
        best, first = [arm for arm in analysis["arms"] if arm["may_be_best"]], analysis["arms"][0]
        n_tiers = max(arm["tier"] for arm in analysis["arms"])
        yield say(
            "first_of" if len(best) > 1 else "first_alone",
            name=name,
            arm=plain(first["name"]),
            mean=show_level(first["mean"], points=points),
            n=len(best),
            tiers=say("tiers" if n_tiers > 1 else "one_tier", n=n_tiers),
            items=analysis["n"],
        )


def _next(analysis: Json, say: Say) -> str:
    arms = analysis["arms"]
    best = [arm["name"] for arm in arms if arm["may_be_best"]]
    if analysis.get("missing") is not None and any(arm["incomplete"] for arm in arms):
        return say("next_common")
    if len(best) > 1:
        return say("next_several", n=len(best))
    return say("next_best", name=plain(best[0]))
