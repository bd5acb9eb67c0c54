"""DEVIATIONS.md: every departure from the plan as it was filed and judged, in English or Chinese.

What the author wrote stays in the author's language. Nothing here follows from outcomes before the verdict:
`consequences` is None until then.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import get_args

from service.domain.deviations.classification import STRICTNESS
from service.domain.deviations.consequences import Consequences
from service.domain.deviations.deviation import Decision, Deviation, standing
from service.domain.notes.said import Words
from service.domain.verdicts.records import Outcome
from service.reports.prereg.text import code, json_span, sentence, write_item
from service.words import Language, say
from service.words.punctuation import colon, in_parentheses, pause


def print_deviations(
    deviations: Sequence[Deviation],
    decisions: Mapping[int, tuple[Decision, ...]],
    *,
    plan_sha256: str,
    consequences: Consequences | None = None,
    marks: Sequence[Words] = (),
    language: Language = "en",
) -> str:
    """Return the deviations in the order they were filed, after `marks`: what every reader has to know."""
    words = _Words(language)
    parts = [f"# {words['title']}", f"{words['plan']}{words.colon}`{plan_sha256}`"]
    if marks:
        parts.append("\n".join(f"- **!** {sentence(mark.of(language))}" for mark in marks))
    if not deviations:
        parts.append(words["none"])
    parts += [
        "\n".join(_write_deviation(deviation, decisions.get(deviation.number, ()), words))
        for deviation in deviations
    ]
    if consequences is not None and deviations:
        parts.append("\n".join(_write_consequences(consequences, words)))
    return "\n\n".join(parts) + "\n"


class _Words:
    """The fixed words in one language."""

    def __init__(self, language: Language) -> None:
        self.language = language
        self.colon = colon(language)
        self.pause = pause(language)
        self.semicolon = say("lists.semicolon", language)

    def __getitem__(self, key: str) -> str:
        return say(f"deviations.{key}", self.language)

    def note(self, note: str) -> str:
        """Return what stands in parentheses behind something."""
        return in_parentheses(note, self.language)

    def value(self, value: str) -> str:
        """Return a value of a closed set; in Chinese with the value itself behind it."""
        if self.language == "en":
            return f"`{value}`"
        rooms = {
            **dict.fromkeys(get_args(Outcome), "verdicts."),
            **dict.fromkeys(STRICTNESS, "reports.standing_"),
        }
        word = say(rooms.get(value, "deviations.direction_") + value, self.language)
        return f"{word}{self.note(f'`{value}`')}"


def _write_deviation(deviation: Deviation, decisions: tuple[Decision, ...], words: _Words) -> Iterator[str]:
    """Write a deviation and the decisions about it as a section of Markdown."""
    filing, facts, colon = deviation.filing, deviation.facts, words.colon
    yield f"## {words['deviation']} {deviation.number}{colon}{write_item(filing.title)}"
    yield ""
    for name in ("original", "actual", "reason", "impact"):
        yield f"- **{words[name]}**{colon}{write_item(getattr(filing, name))}"
    yield f"- **{words['direction']}**{colon}{words.value(filing.direction)}{words.note(words['stated'])}"
    for direction in deviation.directions:
        yield (
            f"  - {direction.hypothesis}{colon}{words.value(direction.direction)}"
            f"{words.note(words['computed'])}{words.semicolon}"
            f"{words['for_null']}{colon}{words.value(direction.null_direction)}"
        )
    yield f"- **{words['change']}**{colon}{json_span(filing.change.model_dump(mode='json', exclude_none=True))}"
    seen = words["readable"] if facts.readable else words["sealed"]
    received = say(
        "deviations.results", words.language, received=facts.results_received, expected=facts.results_expected
    )
    yield f"- **{words['known']}**{colon}{words.semicolon.join((f'`{facts.state}`', received, seen))}"
    author = _by(deviation.author, deviation.author_key, words)
    yield f"- **{words['filed']}**{colon}{deviation.filed_at.isoformat()}{words.pause}{author}"
    rule = words.note(f"`{deviation.rule.id}, {deviation.rule.ruleset}`")
    yield f"- **{words['rule']}**{colon}{words.value(deviation.classification)}{rule}"
    for decision in decisions:
        note = "" if decision.note is None else f"{colon}{write_item(decision.note)}"
        reviewer = _by(decision.reviewer, decision.reviewer_key, words)
        when = words.note(f"{decision.decided_at.isoformat()}{words.pause}{reviewer}")
        yield f"- **{words['decided']}**{colon}{words.value(decision.classification)}{when}{note}"
    yield f"- **{words['standing']}**{colon}{words.value(standing(deviation, decisions))}"
    yield f"- **{words['sha256']}**{colon}`{deviation.sha256()}`"


def _by(name: str, key_id: str | None, words: _Words) -> str:
    """Say who it was, by name and key."""
    return code(name) if key_id is None else f"{code(name)}{words.note(code(key_id))}"


def _write_consequences(consequences: Consequences, words: _Words) -> Iterator[str]:
    """Write what deviations do to the outcomes, as a table and as doubts."""
    yield f"## {words['consequences']}"
    yield ""
    yield words["stays"]
    if consequences.as_run is not None:
        yield ""
        yield f"| {words['hypothesis']} | {words['planned']} | {words['as_run']} |"
        yield "|---|---|---|"
        for hypothesis in consequences.as_run.hypotheses:
            planned, as_run = words.value(hypothesis.outcome_planned), words.value(hypothesis.outcome)
            yield f"| {hypothesis.hypothesis} | {planned} | {as_run} |"
    lines = list(_list_doubts(consequences, words))
    if lines:
        yield ""
        yield from lines


def _list_doubts(consequences: Consequences, words: _Words) -> Iterator[str]:
    """List how robust the outcomes are to deviations, and what was not computed and why."""
    for point in consequences.tipping_points:
        if point.robust:
            yield f"- {point.hypothesis}{words.colon}{words['robust']}"
        elif point.items is not None and point.outcome_then is not None:
            then = words.value(point.outcome_then)
            yield f"- {point.hypothesis}{words.colon}{point.items} {words['tipping']} → {then}"
        else:
            reason = words.note(sentence(point.reason or "?"))
            yield f"- {point.hypothesis}{words.colon}{words['unsettled']}{reason}"
    for number in consequences.not_computed:
        yield f"- {words['deviation']} {number.deviation}{words.colon}{sentence(number.reason)}"
    for reason in consequences.reasons:
        yield f"- {sentence(reason)}"
