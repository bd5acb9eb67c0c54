"""What a deviation changed, in a form that rules can read and verdicts can be recomputed from."""

from __future__ import annotations

import unicodedata
from itertools import pairwise
from typing import Annotated, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from service.domain.plans.plan import MissingPolicy, MultiplicityPolicy
from service.domain.plans.sections.endpoint import MAX_LIST
from service.domain.plans.sections.hypothesis import MAX_RULE_LENGTH
from service.domain.plans.strings import Line, Name, Token
from service.records import StrictRecord
from service.stats.shared.declaring.common import MAX_ITEMS, Finite, Margin

MAX_IDS = 10_000
"""Items or clusters one deviation may name."""

Favours = Literal["candidate", "baseline", "neither"]


def _distinct(values: tuple[str, ...]) -> tuple[str, ...]:
    """Ids as manifests keep them (NFC), each once."""
    values = tuple(unicodedata.normalize("NFC", value) for value in values)
    if len(set(values)) < len(values):
        raise PydanticCustomError("repeated", "names something twice", {"fix": "name everything once"})
    return values


_Ids = Annotated[
    tuple[Annotated[str, Field(min_length=1, max_length=512)], ...],
    Field(min_length=1, max_length=MAX_IDS),
    AfterValidator(_distinct),
]
_DROPPED = Field(
    None,
    description="The arm that the items left out were expected to favour, for what was known without any "
    "outcome; null: nobody can say.",
)


class SampleSize(StrictRecord):
    """Another number of items than planned."""

    kind: Literal["n"]
    population: Token
    n: int = Field(ge=0, le=MAX_ITEMS, description="Items actually run.")
    dropped_favour: Favours | None = _DROPPED


class ExcludedItems(StrictRecord):
    """Items left out of every arm."""

    kind: Literal["exclude_items"]
    population: Token
    item_ids: _Ids
    dropped_favour: Favours | None = _DROPPED


class ExcludedClusters(StrictRecord):
    """Whole clusters left out of every arm."""

    kind: Literal["exclude_clusters"]
    population: Token
    clusters: _Ids
    dropped_favour: Favours | None = _DROPPED


class DisputedItems(StrictRecord):
    """Items that stay in, but whose outcomes somebody contests."""

    kind: Literal["disputed_items"]
    population: Token
    item_ids: _Ids


class MissingPolicyChange(StrictRecord):
    """Another policy for results that are not ok."""

    kind: Literal["missing_policy"]
    missing: MissingPolicy


class Fourfold(StrictRecord):
    """Two arms on the same items of the split a threshold was chosen on, each right or wrong."""

    both_correct: int = Field(ge=0, le=MAX_ITEMS)
    only_baseline: int = Field(ge=0, le=MAX_ITEMS)
    only_candidate: int = Field(ge=0, le=MAX_ITEMS)
    both_wrong: int = Field(ge=0, le=MAX_ITEMS)


class SweepPoint(StrictRecord):
    """One value of a sensitivity sweep."""

    value: Finite
    counts: Fourfold | None = Field(
        None,
        description="What the arms did at this value on the split it was chosen on, never on the plan's items.",
    )


def _ascending(points: tuple[SweepPoint, ...]) -> tuple[SweepPoint, ...]:
    values = [point.value for point in points]
    if any(after <= before for before, after in pairwise(values)):
        raise PydanticCustomError(
            "not_ascending",
            "must have ascending values, each once",
            {"fix": "sort the points by their value"},
        )
    return points


class ThresholdChange(StrictRecord):
    """A tuned number that was set anew."""

    kind: Literal["threshold"]
    name: Line = Field(description="As in the plan's thresholds.")
    population: Token | None = None
    value: Finite = Field(description="The value the arms were run with.")
    chosen_on: Literal["separate_split", "evaluation_items"] = Field(
        description="Whether the data it was chosen on are apart from the plan's items."
    )
    split_sha256: Line | None = Field(None, description="SHA-256 of that split.")
    sweep: Annotated[tuple[SweepPoint, ...], AfterValidator(_ascending)] | None = Field(
        None, min_length=1, max_length=MAX_LIST, description="The values a sensitivity sweep covers."
    )


class EndpointChange(StrictRecord):
    """A hypothesis judged by another endpoint."""

    kind: Literal["endpoint"]
    hypothesis: Name
    endpoint: Token


class ArmRemoved(StrictRecord):
    """An arm that is no longer compared."""

    kind: Literal["arm_removed"]
    arm: Token


class HypothesisChange(StrictRecord):
    """A hypothesis split, dropped, added or said anew."""

    kind: Literal["hypothesis"]
    hypothesis: Name
    how: Literal["split", "dropped", "added", "reshaped"]


class RuleChange(StrictRecord):
    """Another decision rule for a hypothesis."""

    kind: Literal["rule"]
    hypothesis: Name
    rule: str = Field(min_length=1, max_length=MAX_RULE_LENGTH)


class SesoiChange(StrictRecord):
    """Another smallest effect size of interest."""

    kind: Literal["sesoi"]
    endpoint: Token
    margin: Margin


class TestChange(StrictRecord):
    """A statistical test replaced, or asked with other parameters."""

    __test__ = False

    kind: Literal["test"]
    test: Name


class MultiplicityChange(StrictRecord):
    """Another policy for several hypotheses."""

    kind: Literal["multiplicity"]
    policy: MultiplicityPolicy


class StoppingChange(StrictRecord):
    """A look at outcomes, or an end, that the stopping rule does not have."""

    kind: Literal["stopping"]


class JudgeChange(StrictRecord):
    """Another judge: model, version or prompt."""

    kind: Literal["judge"]
    endpoint: Token


class OtherChange(StrictRecord):
    """A change no other kind describes."""

    kind: Literal["other"]


Change = Annotated[
    SampleSize
    | ExcludedItems
    | ExcludedClusters
    | DisputedItems
    | MissingPolicyChange
    | ThresholdChange
    | EndpointChange
    | ArmRemoved
    | HypothesisChange
    | RuleChange
    | SesoiChange
    | TestChange
    | MultiplicityChange
    | StoppingChange
    | JudgeChange
    | OtherChange,
    Field(discriminator="kind"),
]
OTHER = OtherChange(kind="other")
