"""First lines of answers that a statistical test gives, and the second: what was not shown.

A comparison, a score, a resolution and an audit bring theirs along. No line says more than the test's own sentence,
which stands below it where that is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from forelock.questions.forms.figures import has_ends, show_difference, show_level
from forelock.text import plain
from forelock.words import ENGLISH, Say

Json = Mapping[str, Any]
NAMED = 2
"""Pairs that are not told apart, up to which they are named."""
_SOURCES = {"item_by_arm": "of_items", "run": "of_runs", "judge": "of_judgements"}
"""Parts of the error of a difference, and what they come from."""


def of_ranking(analysis: Json, *, points: bool, say: Say = ENGLISH) -> tuple[str, str]:
    """Who is the best or may be, how far ahead, and which pairs are not told apart; empty of a service without it."""
    winner = analysis.get("winner")
    if winner is None:
        return "", ""
    arms, pairs = analysis["arms"], analysis["pairs"]
    best = sum(arm["may_be_best"] for arm in arms)
    code = "best_alone" if best == 1 else "best_any" if best == len(arms) else "best_some"
    lead = ""
    if winner["lead"] is not None:
        figures = figures_of(winner["lead"], winner["ci"], points=points, difference=True, say=say)
        lead = say("ahead_of", figures=figures, name=plain(winner["runner_up"]))
    line = say(code, name=plain(winner["name"]), n=len(arms), best=best, lead=lead)
    alike = [pair for pair in pairs if not pair["apart"]]
    if not alike:
        return line, ""
    if len(alike) > NAMED:
        return line, say("pairs_open", n=len(alike), pairs=len(pairs))
    names = [say("two", first=plain(pair["first"]), second=plain(pair["second"])) for pair in alike]
    return line, say("pairs_open_named", names=say("semicolon").join(names))


def of_noise(
    analysis: Json, names: tuple[str, str], *, points: bool, alpha: float, say: Say = ENGLISH
) -> tuple[str, str]:
    """Tell whether the systems differ, by how much, and where the error of that comes from.

    Args:
        names: of the baseline and the candidate.
        points: outcomes are right and wrong.
        alpha: two-sided level.
    """
    ci, p = decides(analysis)
    holds = ci is not None and has_ends(ci) and ci["low"] <= 0 <= ci["high"]
    differs = p is not None and p < alpha and not holds
    figures = figures_of(analysis["delta"], ci, points=points, difference=True, say=say)
    arms = {"baseline": plain(names[0]), "candidate": plain(names[1])}
    line = say("runs_differ" if differs else "runs_alike", **arms, figures=figures)
    error = analysis["error"]
    parts = {word: error[name] or 0.0 for name, word in _SOURCES.items()}
    if error["run"] is None:  # no run was repeated: their noise is among what tells the items apart
        parts["of_items_and_runs"] = parts.pop("of_items")
    whole = sum(parts.values())
    if whole > 0:
        shares = [
            say("error_share", share=f"{part / whole:.0%}", source=say(word))
            for word, part in parts.items()
            if part > 0
        ]
        line = say("error_from", line=line, shares=say("comma").join(shares))
    return line, say("open_ship" if differs else "open_equal")


def decides(analysis: Json) -> tuple[Json, float | None]:
    """The interval of the difference of runs and its p: a comparison's; of an older service, or without one, by t."""
    ci = analysis.get("ci_unseen")
    if ci is None:
        return analysis["ci"], analysis["p_value"]
    return ci, analysis["p_unseen"]


def of_reliability(analysis: Json, name: str, say: Say = ENGLISH) -> tuple[str, str]:
    """How many items all of k runs get right, beside one run; and of how many it is open whether they are reliable."""
    share = analysis["least_share"] is not None
    first, last = analysis["curve"][0], analysis["curve"][-1]
    figures = figures_of(last["worst"]["value"], last["worst"]["ci"], points=share, say=say)
    kind = "right" if share else "worst"
    code = f"{kind}_in_{'one' if last['k'] == 1 else 'all'}"
    line = say(code, name=plain(name), k=last["k"], figures=figures)
    if last["k"] > 1 and first["k"] == 1:
        line = say("beside_one", line=line, one=show_level(first["worst"]["value"], points=share))
    if analysis["most_runs"] == 1:
        return line, say("open_another_run")
    if share and analysis["n_undecided"]:
        rate = f"{100 * analysis['least_share']:.10g}%"
        return line, say("open_reliable", open=analysis["n_undecided"], n=analysis["n"], rate=rate)
    return line, ""


def of_items(analysis: Json, say: Say) -> tuple[str, str]:
    """Say how many items tell nothing, and how many run against the rest."""
    silent = analysis["n_dead"] + analysis.get("n_alone", 0)
    counts = {"n": analysis["n"], "dead": silent, "against": analysis["n_negative"]}
    line = say("items_tell", **counts, arms=analysis["n_arms"])
    return line, say("open_described")


def figures_of(estimate: float, ci: Json | None, *, points: bool, difference: bool = False, say: Say) -> str:
    """Return a number with the ends of its interval; the unit of a difference stands behind the last."""
    show = show_difference if difference else show_level
    value = show(estimate, points=points)
    if ci is None or not has_ends(ci):
        return say("figures_alone", estimate=_in_words(value, say))
    low, high = (show(ci[end], points=points) for end in ("low", "high"))
    level = f"{100 * ci['level']:.10g}%"
    ends = {"low": low.removesuffix(" pp"), "high": _in_words(high, say)}
    return say("figures", estimate=_in_words(value, say), level=level, **ends)


def _in_words(amount: str, say: Say) -> str:
    """Return a number of a sentence with its unit in the language of the sentence; tables keep `pp`."""
    number = amount.removesuffix(" pp")
    return amount if number == amount else say("in_points", value=number)
