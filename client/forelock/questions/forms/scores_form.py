"""The scores of several systems in words, a picture and numbers: each by itself, which compares none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from forelock.questions.forms.figures import has_ends, show_interval, show_level
from forelock.questions.forms.form import Form
from forelock.questions.forms.headlines import figures_of
from forelock.questions.forms.score_form import brief_of, exit_code
from forelock.questions.pictures.drawing import Bar, Bound, Picture
from forelock.text import plain
from forelock.words import Say, pad

Json = Mapping[str, Any]
MOST_DRAWN = 60
NAMED = 3
_WORST = ("falls_short", "cannot_tell", "meets", "estimate")


def exit_code_of(answers: Mapping[str, Json | str]) -> int:
    """10 where a system falls short, 12 where of one it cannot be told or it has no score; else 0."""
    codes = {12 if isinstance(answer, str) else exit_code(answer) for answer in answers.values()}
    return next((code for code in (10, 12) if code in codes), 0)


def form_of(answers: Mapping[str, Json | str], say: Say) -> Form:
    """Return the scores by system, or why one has none; at least one has."""
    scored = sorted(
        ((name, answer) for name, answer in answers.items() if not isinstance(answer, str)),
        key=lambda pair: -pair[1]["mean"],
    )
    outcomes = [answer["outcome"] for _, answer in scored]
    worst = next(outcome for outcome in _WORST if outcome in outcomes)
    return Form(
        question="score",
        headline=_say_headline(scored, outcomes, len(answers), say),
        open=say("compares_none"),
        mark={"meets": "✅", "falls_short": "❌", "cannot_tell": "❔"}.get(worst, "📏"),
        answer={"outcome": worst, "systems": [{"name": name, **brief_of(answer)} for name, answer in scored]},
        picture=_picture(scored),
        parts=[("system", line) for line in _list_lines(answers, scored, say)],
        done=list(dict.fromkeys(answer["rule"] for _, answer in scored)),
        cautions=[*_cautions(scored, say)],
        next=say(_next(scored)),
        status=say("exploratory"),
    )


def _next(scored: Sequence[tuple[str, Json]]) -> str:
    if len(scored) == 1:
        return "next_unscored"
    # Of single items no ranking is made.
    return "next_rank" if all(answer["n"] > 1 for _, answer in scored) else "next_arm"


def _say_headline(scored: Sequence[tuple[str, Json]], outcomes: Sequence[str], n: int, say: Say) -> str:
    """Say how many systems were scored, between which scores, and how many meet the threshold if there is one."""
    (first, best), (last, least) = scored[0], scored[-1]
    ends = {"best": _score(first, best, say), "least": _score(last, least, say)}
    if len(scored) == 1 and best["against"] is None:
        return say("scores_one", of=n, best=ends["best"])
    if best["against"] is None and best["mean"] == least["mean"]:
        return say("scores_alike", n=len(scored), mean=show_level(best["mean"], points=best["points"]))
    if best["against"] is None:
        return say("scores", n=len(scored), **ends)
    threshold = show_level(best["against"]["threshold"], points=best["points"])
    counts = {outcome: outcomes.count(outcome) for outcome in _WORST}
    by_outcome = {"meet": counts["meets"], "short": counts["falls_short"], "open": counts["cannot_tell"]}
    return say("scores_against", n=len(scored), bar=threshold, **by_outcome, **ends)


def _score(name: str, answer: Json, say: Say) -> str:
    figures = figures_of(answer["mean"], answer["ci"], points=answer["points"], say=say)
    return say("score_of", name=plain(name), figures=figures)


def _picture(scored: Sequence[tuple[str, Json]]) -> Picture | None:
    """Return a bar for every system that has an interval, against the threshold."""
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


def _list_lines(
    answers: Mapping[str, Json | str], scored: Sequence[tuple[str, Json]], say: Say
) -> Iterator[str]:
    """Yield a line for each system, the best first: its outcome, score, interval and n, or why it has no score."""
    width = max(len(plain(name)) for name in answers)
    several = any(answer["outcome"] != "estimate" for _, answer in scored)
    for name, answer in scored:
        outcome = answer["outcome"]
        word_of = "" if outcome == "estimate" else say("short" if outcome == "falls_short" else outcome)
        word = pad(word_of, 12) if several else ""
        mean = show_level(answer["mean"], points=answer["points"])
        interval = show_interval(answer["ci"], points=answer["points"], say=say)
        value = say("and_interval", value=f"{word}{mean}", interval=interval)
        line = f"{value}{say('comma')}n = {answer['n']}"
        if answer["missing"] is not None:
            line += say("comma") + say("lacking", n=answer["missing"]["n"])
        yield f"{plain(name):<{width}}  {line}"
    for name, reason in answers.items():
        if isinstance(reason, str):
            yield f"{plain(name):<{width}}  " + say("not_scored", reason=plain(reason))


def _cautions(scored: Sequence[tuple[str, Json]], say: Say) -> Iterator[dict[str, Any]]:
    """Yield every caution once, with the systems that have it where not all do."""
    systems: dict[tuple[str, str], list[str]] = {}
    kept: dict[tuple[str, str], Json] = {}
    for name, answer in scored:
        for caution in answer["warnings"]:
            key = caution["code"], caution["message"]
            systems.setdefault(key, []).append(name)
            kept[key] = caution
    for key, names in systems.items():
        quoted = say("names").join(map(plain, names[:NAMED]))
        if len(names) > NAMED:
            quoted = say("and_more", names=quoted, n=len(names) - NAMED)
        of = "" if len(names) == len(scored) else say("caution", code=quoted)
        yield {**kept[key], "message": f"{of}{kept[key]['message']}"}
