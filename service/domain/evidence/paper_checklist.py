"""The five pieces of evidence of a paper without a record, from somebody's answers to ten questions."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, get_args

from pydantic import Field

from service.domain.evidence.card import Check, Piece, PieceId, Score, title, total
from service.domain.notes.said import Words, in_words
from service.domain.plans.strings import Line
from service.records import Record, StrictRecord
from service.words import Message, message

Answer = Literal["checkable", "stated", "absent", "not_applicable"]
_SCORES: Mapping[str, Score] = MappingProxyType({"checkable": 2, "stated": 1, "absent": 0})

BELONGS: Mapping[str, PieceId] = MappingProxyType(
    {
        "plan_timestamped": "preregistration",
        "primary_endpoint_named": "preregistration",
        "paired_test": "paired_test",
        "p_and_counts_reported": "paired_test",
        "margin_set_beforehand": "equivalence",
        "equivalence_tested": "equivalence",
        "clusters_named": "clustered_interval",
        "interval_respects_clusters": "clustered_interval",
        "run_to_planned_n": "no_optional_stopping",
        "deviations_listed": "no_optional_stopping",
    }
)
"""The piece that each question belongs to."""


def question(name: str) -> Message:
    """Return what the reader of a paper is asked under this name."""
    return message(f"evidence.question_{name}")


def _english(name: str) -> str:
    return question(name).text("en")


class PaperChecklist(StrictRecord):
    """What a reader finds in a paper. Leave out what you did not look for: it counts as absent."""

    title: Line | None = None
    plan_timestamped: Answer = Field("absent", description=_english("plan_timestamped"))
    primary_endpoint_named: Answer = Field("absent", description=_english("primary_endpoint_named"))
    paired_test: Answer = Field("absent", description=_english("paired_test"))
    p_and_counts_reported: Answer = Field("absent", description=_english("p_and_counts_reported"))
    margin_set_beforehand: Answer = Field("absent", description=_english("margin_set_beforehand"))
    equivalence_tested: Answer = Field(
        "absent",
        description=_english("equivalence_tested") + " (`not_applicable`: no such finding is claimed)",
    )
    clusters_named: Answer = Field("absent", description=_english("clusters_named"))
    interval_respects_clusters: Answer = Field(
        "absent",
        description=_english("interval_respects_clusters") + " (`not_applicable`: items are independent)",
    )
    run_to_planned_n: Answer = Field("absent", description=_english("run_to_planned_n"))
    deviations_listed: Answer = Field("absent", description=_english("deviations_listed"))


class PaperCard(Record):
    """The five pieces of evidence of a paper."""

    title: str | None
    score: int
    most: int = Field(description="What the pieces that apply could reach.")
    pieces: tuple[Piece, ...]
    limits: Words = Field(description="What the card cannot know.")


def of_paper(answers: PaperChecklist) -> PaperCard:
    """Score a paper: each piece is as good as the weaker of its two answers."""
    pieces = tuple(_make_piece(get_arg, answers) for get_arg in get_args(PieceId))
    score, most = total(pieces)
    return PaperCard(
        title=answers.title,
        score=score,
        most=most,
        pieces=pieces,
        limits=in_words(message("evidence.limits_of_paper")),
    )


def _make_piece(of: PieceId, answers: PaperChecklist) -> Piece:
    """Make one piece of evidence from its questions.

    Its score is that of the worst answer, and what does not apply does not count.
    """
    answered = {name: getattr(answers, name) for name, belongs in BELONGS.items() if belongs == of}
    counted = [_SCORES[answer] for answer in answered.values() if answer != "not_applicable"]
    return Piece(
        id=of,
        title=title(of),
        score=min(counted) if counted else None,
        checks=tuple(
            Check(
                says=in_words(question(name)),
                holds=None if answer == "not_applicable" else answer != "absent",
                by="author",
            )
            for name, answer in answered.items()
        ),
    )
