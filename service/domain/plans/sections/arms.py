"""Arm cards: what a plan says of the system behind an arm, and where a file or a run says another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from service.domain.plans.strings import Line, Paragraph, Token
from service.records import StrictRecord
from service.stats.shared.declaring.common import Finite

OnDifference = Literal["invalid", "flag", "note"]
MAX_MORE = 50
"""Free fields of one card, and tools."""
ASKED = ("model", "prompt_sha256", "decoding", "harness")
"""What lint misses of a card. Tools and a system around the model are not everybody's."""
_SHA256 = "^[0-9a-f]{64}$"
_NOT_SAID = {"id", "criterion", "on_difference"}
"""Fields of a card that are no facts of a system."""
Criterion = Annotated[Paragraph, Field(max_length=1000)]


class ArmModel(StrictRecord):
    """The model of an arm, and which state of it."""

    name: Line = Field(description="Its name, as the harness calls it.")
    revision: Line | None = Field(None, description="Release, date or commit of its weights.")
    checkpoint_sha256: str | None = Field(None, pattern=_SHA256, description="SHA-256 of the weights.")


class Decoding(StrictRecord):
    """How answers are drawn from the model."""

    temperature: Finite | None = Field(None, ge=0, description="Temperature; 0: the likeliest token.")
    top_p: Finite | None = Field(None, gt=0, le=1, description="Share of the likeliest tokens.")
    max_tokens: int | None = Field(None, ge=1, le=2**53 - 1, description="Tokens of an answer at most.")
    seed: Line | None = Field(None, description="The seed, or how seeds are given, such as `one per run`.")


class ArmHarness(StrictRecord):
    """What runs the model on the items."""

    name: Line = Field(description="Its name.")
    version: Line | None = Field(None, description="Its version or commit.")
    config_sha256: str | None = Field(None, pattern=_SHA256, description="SHA-256 of its configuration.")


class Described(StrictRecord):
    """What is said of the system behind an arm."""

    model: ArmModel | None = Field(None, description="The model; null: not said.")
    prompt_sha256: str | None = Field(None, pattern=_SHA256, description="SHA-256 of the prompt's template.")
    decoding: Decoding | None = Field(None, description="How answers are drawn; null: not said.")
    tools: tuple[Line, ...] | None = Field(
        None, max_length=MAX_MORE, description="Tools that the model may use; an empty list: none."
    )
    harness: ArmHarness | None = Field(None, description="What runs it; null: not said.")
    system: Paragraph | None = Field(
        None, description="What else there is around the model: scaffold, retrieval, service."
    )
    more: dict[Token, Line] | None = Field(
        None, min_length=1, max_length=MAX_MORE, description="Whatever else tells it from others."
    )

    def facts(self) -> dict[str, Any]:
        """Return what is said, by dotted names such as `model.name`."""
        card = self.model_dump(mode="json", exclude_none=True, exclude=_NOT_SAID)
        return dict(_flat(card))

    def text(self) -> str:
        """Return what is said, in one line: `model.name gpt-4.1, decoding.temperature 0`."""
        return ", ".join(f"{name} {_quote(value)}" for name, value in self.facts().items())

    def differs(self, stated: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the fields of which a file or a run says something else. What either leaves out is no difference."""
        return tuple(
            name for name, value in self.facts().items() if name in stated and not _same(value, stated[name])
        )


class _Identified(StrictRecord):
    id: Token = Field(description="The arm, as hypotheses call it.")


class ArmCard(Described, _Identified):
    """What stands behind an arm. What is said here is held against imported files and bound runs that say it too."""

    criterion: Criterion | None = Field(
        None,
        description="In the place of a model that does not exist yet: which one it will be, so that two people would "
        "name the same. It is named before the arm's results come in; null: nothing is left open.",
    )
    on_difference: OnDifference = Field(
        "flag",
        description="What results of another system do to the outcomes that rest on them: `invalid` or `flag`; `note`: "
        "the verdict says it, and no outcome.",
    )

    def line(self) -> str:
        """Return what is said and what is left open, in one line."""
        criterion = () if self.criterion is None else (f'criterion "{one_line(self.criterion)}"',)
        return ", ".join(filter(None, (*criterion, self.text())))

    def lacks(self) -> tuple[str, ...]:
        """List what somebody who runs the arm again has to know and is not said; a criterion says which model."""
        absent = [name for name in ASKED if getattr(self, name) is None]
        if self.criterion is not None and self.model is None:
            absent.remove("model")
        if self.model is not None and self.model.revision is None and self.model.checkpoint_sha256 is None:
            absent.insert(0, "model.revision")
        return tuple(absent)


def one_line(text: str) -> str:
    """Return a paragraph without its line breaks."""
    return " ".join(text.split())


def _flat(card: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in card.items():
        if isinstance(value, dict):
            yield from ((f"{name}.{inner}", inner_value) for inner, inner_value in value.items())
        else:
            yield name, value


def _quote(value: Any) -> str:
    if isinstance(value, list):
        return " + ".join(map(str, value)) if value else "-"
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def _same(ours: Any, theirs: Any) -> bool:
    """Equal as numbers where both are; lists in any order; text as it is written."""
    if isinstance(ours, list):
        others = theirs.split(",") if isinstance(theirs, str) else theirs
        return isinstance(others, list) and sorted(map(_text, ours)) == sorted(map(_text, others))
    if isinstance(ours, int | float) or isinstance(theirs, int | float):
        try:
            return float(ours) == float(theirs)
        except (TypeError, ValueError, OverflowError):
            return False
    return _text(ours) == _text(theirs)


def _text(value: Any) -> str:
    return str(value).strip()
