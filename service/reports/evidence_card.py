"""The evidence card as a page of Markdown that is read in a minute."""

from __future__ import annotations

from collections.abc import Iterator

from service.domain.evidence.card import MOST_PER_PIECE, Piece
from service.domain.evidence.record import EvidenceCard, HypothesisCard
from service.domain.power.answers.lead import size_of
from service.reports.prereg.text import sentence, write_item
from service.words import Language, say
from service.words.punctuation import colon, in_parentheses, pause

LEAST_SHOWN = 0.005
_MARKS = {True: "✓", False: "✗", None: "?"}


def print_card(card: EvidenceCard, language: Language = "en") -> str:
    """Return the card: the score, the five pieces with what was looked at, and the outcomes if there are any."""
    heading = (
        say("evidence.card", language)
        if card.title is None
        else say("evidence.card_titled", language, title=write_item(card.title))
    )
    score = say("evidence.card_score", language, score=card.score, most=card.most)
    state = in_parentheses(f"`{card.state}`", language)
    parts = [f"# {heading}", f"**{score}**{state}", "\n".join(_pieces(card.pieces, language))]
    parts.append("\n".join(_facts(card, language)))
    if card.hypotheses:
        parts.append(
            "\n".join(
                line for hypothesis in card.hypotheses for line in _print_hypothesis(hypothesis, language)
            )
        )
    if card.marks:
        parts.append("\n".join(f"- **!** {sentence(mark.of(language))}" for mark in card.marks))
    parts.append(card.limits.of(language))
    return "\n\n".join(parts) + "\n"


def _pieces(pieces: tuple[Piece, ...], language: Language) -> Iterator[str]:
    for number, piece in enumerate(pieces, start=1):
        score = "–" if piece.score is None else f"{piece.score}/{MOST_PER_PIECE}"
        yield f"{number}. **{piece.title.of(language)}**{colon(language)}{score}"
        for check in piece.checks:
            word = say("evidence.by_author", language) if check.by == "author" else ""
            yield f"   - {_MARKS[check.holds]} {check.says.of(language)}{word}"


def _facts(card: EvidenceCard, language: Language) -> Iterator[str]:
    times = {"locked_at": card.locked_at, "first_result": card.first_result_at, "judged_at": card.judged_at}
    for label, when in times.items():
        yield f"- {say(f'evidence.{label}', language)}{colon(language)}{'–' if when is None else when.isoformat()}"
    yield f"- {say('evidence.results', language)}{colon(language)}{card.results_received} / {card.results_expected}"
    counts = say("lists.comma", language).join(
        f"{count} `{name}`" for name, count in sorted(card.deviations.items())
    )
    yield f"- {say('evidence.deviations', language)}{colon(language)}{counts or 0}"


def _print_hypothesis(card: HypothesisCard, language: Language) -> Iterator[str]:
    """Yield the lines of a hypothesis: what it is about, n, power and outcome, then its sentences and notes."""
    facts = [
        say("evidence.about", language, what=card.about.of(language)),
        f"n = {card.n_planned or '–'}",
        _power(card, language),
    ]
    if card.outcome is not None:
        code = f"`{card.outcome}`"
        word = say(f"verdicts.{card.outcome}", language)
        facts.append(code if language == "en" else f"{word}{in_parentheses(code, language)}")
    yield f"- **{card.hypothesis}**{colon(language)}{pause(language).join(facts)}"
    if card.power_limit is not None:
        yield f"  - {card.power_limit.of(language)}"
    for words in (card.sentences, *(note.says for note in card.notes)):
        if words is not None:
            yield f"  - {sentence(words.of(language))}"  # it holds names that the plan's author chose


def _power(card: HypothesisCard, language: Language) -> str:
    """Return the power with its name, what is left open, and the rest of the curve."""
    if card.power is None or card.power_at is None:
        return say("evidence.power_unknown", language)
    name = card.power_at.of(language)
    sentence = say("evidence.power_at", language, name=name, power=_percent(card.power))
    if card.power_low is not None and card.power_high is not None:
        low, high = _percent(card.power_low), _percent(card.power_high)
        sentence += say("evidence.power_range", language, low=low, high=high)
    comma = say("lists.comma", language)
    rest = [
        f"{size_of(point)}{colon(language)}{_percent(point.power)}"
        for point in card.power_curve
        if point.power is not None
    ]
    if rest:
        sentence += say("evidence.power_curve", language, values=comma.join(rest))
    return sentence


def _percent(chance: float) -> str:
    """Never rounded to none or all."""
    if 0 < chance < LEAST_SHOWN:
        return "<1 %"
    return ">99 %" if 1 - LEAST_SHOWN <= chance < 1 else f"{100 * chance:.0f} %"
