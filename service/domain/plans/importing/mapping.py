"""What the `import` sections of all formats have in common, and the lines that several of them have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from service.domain.plans.strings import Line, Token
from service.records import StrictRecord
from service.stats.shared.declaring.common import Finite

CountsAs = Literal["error", "missing", "score"]
"""What a sample counts as whose score something stands beside: a row of that status, or its score all the same."""
NoScore = Literal["error", "missing"]
NotResolved = Literal["error", "missing", "failure"]
Values = Annotated[dict[Line, Finite | NoScore], Field(min_length=1, max_length=200)]

ERROR = Field(
    None,
    description="What a sample with an error counts as; null: an error, and refused where it has a score.",
)
GRADER = Field(None, description="What a failed grader counts as; null: refused.")
UNSCORED = Field(None, description="What a sample without a score counts as; null: `missing`.")
PARTIAL = Field(None, description="`take` reads a run that did not finish; null: it is refused.")


class Measure(StrictRecord):
    """Where the values of one endpoint stand, where it is not the one above."""

    scorer: Line | None = Field(
        None, description="Which scorer's values are read; `scorer.key` for one of several."
    )
    metric: Line | None = Field(None, description="Which metric's values are read.")
    filter: Line | None = Field(None, description="Which of the filters.")
    values: Values | None = Field(None, description="What a value counts as, by its text.")


class Readable(StrictRecord, defer_build=True):
    """What the mappings of all formats share: any of them that files are read by."""

    NEEDS: ClassVar[tuple[str, ...]] = ()
    """Fields without which nothing can be read."""
    DEFAULTS: ClassVar[Mapping[str, str]] = {}
    """What is read where the plan names no place, and what counts as what where it says nothing."""
    VALUES: ClassVar[Mapping[str, float]] = {"true": 1.0, "false": 0.0}
    """What values count as that the harness itself defines."""
    INTEGER_IDS: ClassVar[bool] = True
    """Ids that are numbers in the file are read as their digits."""

    BOOKKEEPING: ClassVar[tuple[str, ...]] = ()
    """How names of statistics begin that are of the requests, and of no use as a measure of the answers."""

    SCORED_ERRORS: ClassVar[bool] = False
    """A score may stand beside an error, so that the plan has to say which counts."""

    format: str = Field(description="Names this format.")
    endpoint: Token | None = Field(
        None, description="Which endpoint the values are of; null: the only primary one."
    )
    endpoints: dict[Token, Measure] | None = Field(
        None, min_length=1, max_length=200, description="Where the values of further endpoints stand."
    )
    arm: Line | None = Field(
        None, description="Where the file says which arm it is, as a path; null: whoever imports says it."
    )
    arms: dict[Line, Token] | None = Field(
        None, min_length=1, max_length=200, description="The plan's arm for each name that the files use."
    )
    item_id: Line | None = Field(
        None,
        description="Where the item's id stands, as a path; an object, or `sha256:path`, is hashed. "
        "Null: the format's own.",
    )
    cluster: Line | None = Field(
        None,
        description="Where the cluster stands, as a path; it must be the manifest's. Null: it is not compared.",
    )
    replicate: Line | None = Field(
        None,
        description="Where the replicate stands, counted from 1; `order`: the rows of one item as they follow each "
        "other. Null: the format's own.",
    )
    observed_at: Line | None = Field(
        None,
        description="Where the time of the answer stands, as RFC 3339 with its offset; null: no time is kept.",
    )
    values: Values | None = Field(
        None, description="What a value counts as, by its text: a number, `missing` or `error`."
    )
    unknown_items: Literal["leave_out"] | None = Field(
        None, description="`leave_out` drops items that the manifest does not have; null: they are refused."
    )

    def counts_as(self, event: str) -> str | None:
        """Return what the plan, or else the format, says that an event counts as; None: it has to be said."""
        counted: str | None = getattr(self, event, None)
        return counted if counted is not None else self.DEFAULTS.get(event)

    def place(self, name: str) -> str | None:
        """Return the path of `item_id`, `cluster`, `replicate`, `arm` or `observed_at`."""
        return self.counts_as(name)

    def paths(self) -> list[str]:
        """Say where an import looks in every sample."""
        places = [self.place(name) for name in ("item_id", "cluster", "replicate", "arm", "observed_at")]
        return [path for path in places if path is not None]

    def measures(self) -> Iterator[tuple[str | None, str, Measure]]:
        """Yield every endpoint that is read, None for the one that goes unnamed; where it is said; and from where."""
        first = {name: getattr(self, name, None) for name in Measure.model_fields}
        if any(value is not None for value in first.values()) or not self.NEEDS or not self.endpoints:
            yield self.endpoint, "import", Measure(**first)
        for endpoint, measure in (self.endpoints or {}).items():
            yield endpoint, f"import.endpoints.{endpoint}", measure

    def key(self, measure: Measure) -> str:
        """Return what the reader of the format calls these values."""
        return measure.scorer or measure.metric or self.DEFAULTS.get("metric", "")
