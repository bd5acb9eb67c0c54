"""The scores of several systems in words, a picture and numbers: each by itself, which compares none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from forelock.questions.drawing import Bar, Bound, Picture
from forelock.questions.figures import has_ends, show_interval, show_level
from forelock.questions.form import EXPLORATORY, Form
from forelock.questions.score_form import exit_code, in_brief
from forelock.text import plain

Json = Mapping[str, Any]
MOST_DRAWN = 60
NAMED = 3
ALONE = "Each interval is of its system alone and compares none."
_WORDS = {"meets": "meets", "falls_short": "FALLS SHORT", "cannot_tell": "cannot tell", "estimate": ""}
_WORST = ("falls_short", "cannot_tell", "meets", "estimate")


def exit_code_of(answers: Mapping[str, Json | str]) -> int:
    """10 where a system falls short, 12 where of one it cannot be told or it has no score; else 0."""
    codes = {12 if isinstance(answer, str) else exit_code(answer) for answer in answers.values()}
    return next((code for code in (10, 12) if code in codes), 0)


def form_of(answers: Mapping[str, Json | str]) -> Form:
    """The scores by system, or why one has none; at least one has."""
    scored = sorted(
        ((name, answer) for name, answer in answers.items() if not isinstance(answer, str)),
        key=lambda pair: -pair[1]["mean"],
    )
    outcomes = [answer["outcome"] for _, answer in scored]
    worst = next(outcome for outcome in _WORST if outcome in outcomes)
    return Form(
        question="score",
        headline=_headline(scored, outcomes),
        mark={"meets": "✅", "falls_short": "❌", "cannot_tell": "❔"}.get(worst, "📏"),
        answer={"outcome": worst, "systems": [{"name": name, **in_brief(answer)} for name, answer in scored]},
        picture=_picture(scored),
        parts=[("system", line) for line in _lines(answers, scored)],
        done=list(dict.fromkeys(answer["rule"] for _, answer in scored)),
        cautions=[*_cautions(scored)],
        next="`forelock rank` tells which of them are ahead; --arm NAME says more of one",
        status=EXPLORATORY,
    )


def _headline(scored: Sequence[tuple[str, Json]], outcomes: Sequence[str]) -> str:
    (first, best), (last, least) = scored[0], scored[-1]
    told = f"the highest score is {_score(first, best)}, the lowest {_score(last, least)}"
    if best["against"] is None:
        return f"{len(scored)} systems: {told}. {ALONE}"
    threshold = show_level(best["against"]["threshold"], points=best["points"])
    counts = {outcome: outcomes.count(outcome) for outcome in _WORST}
    return (
        f"Of {len(scored)} systems {counts['meets']} meet {threshold}, {counts['falls_short']} fall short, and of "
        f"{counts['cannot_tell']} it cannot be told; {told}. {ALONE}"
    )


def _score(name: str, answer: Json) -> str:
    mean = show_level(answer["mean"], points=answer["points"])
    ci = answer["ci"] and {**answer["ci"], "method": None}
    return f"that of {plain(name)}, {mean} ({show_interval(ci, points=answer['points'])})"


def _picture(scored: Sequence[tuple[str, Json]]) -> Picture | None:
    """A bar for every system that has an interval, against the threshold."""
    bars = [
        Bar(answer["ci"]["low"], answer["mean"], answer["ci"]["high"], plain(name))
        for name, answer in scored
        if has_ends(answer["ci"])
    ]
    if not bars or len(bars) > MOST_DRAWN:
        return None
    points, against = scored[0][1]["points"], scored[0][1]["against"]
    if against is not None:
        return Picture(bars, [Bound(against["threshold"], show_level(against["threshold"], points=points))])
    ends = sorted({min(bar.low for bar in bars), max(bar.high for bar in bars)})
    return Picture(bars, [Bound(end, show_level(end, points=points), "none") for end in ends])


def _lines(answers: Mapping[str, Json | str], scored: Sequence[tuple[str, Json]]) -> Iterator[str]:
    width = max(len(plain(name)) for name in answers)
    several = any(answer["outcome"] != "estimate" for _, answer in scored)
    for name, answer in scored:
        word = f"{_WORDS[answer['outcome']]:<12}" if several else ""
        mean = show_level(answer["mean"], points=answer["points"])
        left = "" if answer["missing"] is None else f", {answer['missing']['n']} without a result"
        interval = show_interval(answer["ci"], points=answer["points"])
        yield f"{plain(name):<{width}}  {word}{mean}, {interval}, n = {answer['n']}{left}"
    for name, reason in answers.items():
        if isinstance(reason, str):
            yield f"{plain(name):<{width}}  not scored: {plain(reason)}"


def _cautions(scored: Sequence[tuple[str, Json]]) -> Iterator[dict[str, Any]]:
    """Every caution once, with the systems that have it where not all do."""
    systems: dict[tuple[str, str], list[str]] = {}
    kept: dict[tuple[str, str], Json] = {}
    for name, answer in scored:
        for caution in answer["warnings"]:
            key = caution["code"], caution["message"]
            systems.setdefault(key, []).append(name)
            kept[key] = caution
    for key, names in systems.items():
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        of = "" if len(names) == len(scored) else f"{', '.join(map(plain, names[:NAMED]))}{more}: "
        yield {**kept[key], "message": f"{of}{kept[key]['message']}"}
