"""The evidence card as a page of Markdown that is read in a minute."""

from __future__ import annotations

from collections.abc import Iterator

from service.domain.evidence.evidence import MOST_PER_PIECE, Piece
from service.domain.evidence.record import EvidenceCard, HypothesisCard
from service.domain.notes.notes import Words
from service.domain.power.lead import size_of
from service.reports.prereg.labels import Language
from service.reports.prereg.text import sentence, written

LEAST_SHOWN = 0.005
_MARKS = {True: "✓", False: "✗", None: "?"}


def print_card(card: EvidenceCard, language: Language = "en") -> str:
    """The card: the score, the five pieces with what was looked at, and the outcomes if there are any."""
    chinese = language == "zh"
    heading = "五件证据" if chinese else "Five pieces of evidence"
    title = "" if card.title is None else f": {written(card.title)}"
    score = f"**{card.score} / {card.most}**" if chinese else f"**{card.score} of {card.most}**"
    parts = [f"# {heading}{title}", f"{score} (`{card.state}`)", "\n".join(_pieces(card.pieces, chinese))]
    parts.append("\n".join(_facts(card, chinese)))
    if card.hypotheses:
        parts.append(
            "\n".join(line for hypothesis in card.hypotheses for line in _hypothesis(hypothesis, chinese))
        )
    if card.marks:
        parts.append("\n".join(f"- **!** {sentence(_said(mark, chinese))}" for mark in card.marks))
    parts.append(_said(card.limits, chinese))
    return "\n\n".join(parts) + "\n"


def _said(words: Words, chinese: bool) -> str:
    return words.zh if chinese else words.en


def _pieces(pieces: tuple[Piece, ...], chinese: bool) -> Iterator[str]:
    for number, piece in enumerate(pieces, start=1):
        score = "–" if piece.score is None else f"{piece.score}/{MOST_PER_PIECE}"
        yield f"{number}. **{_said(piece.title, chinese)}**: {score}"
        for check in piece.checks:
            word = ""
            if check.by == "author":
                word = "(作者声明)" if chinese else " (the author's word)"
            yield f"   - {_MARKS[check.holds]} {_said(check.says, chinese)}{word}"


def _facts(card: EvidenceCard, chinese: bool) -> Iterator[str]:
    labels = (
        ("锁定时间", "首个结果", "判定时间", "已收到结果", "偏离")
        if chinese
        else ("Locked", "First result", "Judged", "Results in", "Deviations")
    )
    for label, when in zip(labels, (card.locked_at, card.first_result_at, card.judged_at), strict=False):
        yield f"- {label}: {'–' if when is None else when.isoformat()}"
    yield f"- {labels[3]}: {card.results_received} / {card.results_expected}"
    counts = ", ".join(f"{count} `{name}`" for name, count in sorted(card.deviations.items()))
    yield f"- {labels[4]}: {counts or 0}"


def _hypothesis(card: HypothesisCard, chinese: bool) -> Iterator[str]:
    outcome = "" if card.outcome is None else f", `{card.outcome}`"
    about = f"关于{card.about.zh}" if chinese else f"about {card.about.en}"
    yield f"- **{card.hypothesis}**: {about}, n = {card.n_planned or '–'}, {_power(card, chinese)}{outcome}"
    if card.power_limit is not None:
        yield f"  - {_said(card.power_limit, chinese)}"
    for words in (card.sentences, *(note.says for note in card.notes)):
        if words is not None:
            yield f"  - {sentence(_said(words, chinese))}"  # it holds names that the plan's author chose


def _power(card: HypothesisCard, chinese: bool) -> str:
    """The power with its name, what is left open, and the rest of the curve."""
    name = "功效" if chinese else "power"
    if card.power is None or card.power_at is None:
        return f"{name} –"
    at = f"在{card.power_at.zh}处的功效" if chinese else f"power at {card.power_at.en}:"
    shown = f"{at} {_percent(card.power)}"
    if card.power_low is not None and card.power_high is not None:
        low, high = _percent(card.power_low), _percent(card.power_high)
        shown += f"({low} 至 {high})" if chinese else f" ({low} to {high} over what the plan leaves open)"
    rest = [f"{size_of(each)}: {_percent(each.power)}" for each in card.power_curve if each.power is not None]
    if rest:
        shown += (
            f";真实差异为 {'、'.join(rest)}" if chinese else f"; at a true difference of {', '.join(rest)}"
        )
    return shown


def _percent(chance: float) -> str:
    """Never rounded to none or all."""
    if 0 < chance < LEAST_SHOWN:
        return "<1 %"
    return ">99 %" if 1 - LEAST_SHOWN <= chance < 1 else f"{100 * chance:.0f} %"
