"""Series of a project: runs of one system on the same items, each judged against those before it when it comes in."""

from __future__ import annotations

import hashlib
import json
import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from service.errors import Conflict, InvalidData
from service.records import Record, StrictRecord
from service.stats.shared.declaring.columns import require_equal_lengths, require_size
from service.stats.shared.declaring.common import Finite, Margin
from service.stats.shared.methods.run_series import NIGHTS, Nights, Runs, RunStanding, compute_accepted_drop

Floats = NDArray[np.float64]
Text = Annotated[str, Field(min_length=1, max_length=512)]
RunName = Annotated[str, Field(min_length=1, max_length=200)]

MOST_SERIES = 1000
"""Of a project."""
MOST_ITEMS = 20_000
MOST_RUNS = 2000
"""Since a reference."""
MOST_CELLS = 2_000_000
"""Runs since a reference times their items: every run is compared with all of these."""
MOST_TEXT = 64 * 1024 * 1024
"""Bytes of the names of items and clusters since a reference; what runs share counts once."""
DISCOVERY_RATE = 0.05
"""Among the drops that are told of all series of a project, the expected share of false ones."""


class SeriesSettings(StrictRecord):
    """How a series is judged; said once, with its first run."""

    margin: Margin | None = Field(None, description="A drop that is accepted; null: none.")
    better: Literal["higher", "lower"] = Field("higher", description="Which values are the better ones.")
    false_alarm_every: float = Field(
        1000,
        ge=10,
        le=1e9,
        allow_inf_nan=False,
        description="Runs that pass on average, at least, before a false alarm, a count.",
    )
    nights: Nights = Field("vary", description=NIGHTS)


class NewRun(StrictRecord):
    """A run of a series: one value per item."""

    name: RunName = Field(description="What the run is called: a date, a commit. Once in a series.")
    item_ids: Annotated[list[Text], Field(min_length=1, max_length=MOST_ITEMS)]
    values: Annotated[list[Finite | None], Field(max_length=MOST_ITEMS)] = Field(
        description="0 and 1 or scores, one per item; null where there is none."
    )
    clusters: Annotated[list[Text], Field(max_length=MOST_ITEMS)] | None = Field(
        None, description="What each item belongs to, where items share something."
    )
    reference: bool = Field(
        False,
        description="The run is one that others are compared with. The first of a series always is; after runs that "
        "are none, a reference begins the series anew.",
    )
    settings: SeriesSettings | None = Field(
        None, description="With the first run; later they stay as they are."
    )

    @model_validator(mode="after")
    def _check_columns(self) -> Self:
        """Refuse columns of different lengths, an item named twice, and a run without a value."""
        require_equal_lengths({"item_ids": self.item_ids, "values": self.values, "clusters": self.clusters})
        if len(set(self.item_ids)) < len(self.item_ids):
            raise InvalidData.field(
                "item_ids", "name an item twice", "send one value per item: repeats as their mean"
            )
        numbers = self.numbers
        if np.isnan(numbers).all():
            raise InvalidData.field("values", "hold no value", "send the values of the run")
        require_size(numbers[~np.isnan(numbers)], "values")
        return self

    @property
    def numbers(self) -> Floats:
        """The values (n,), NaN for null."""
        return np.array(self.values, dtype=np.float64)

    def order(self) -> tuple[bytes, Floats]:
        """Return items and clusters as stored and hashed, and the values (n,): by item, however they were sent."""
        places = sorted(range(len(self.item_ids)), key=self.item_ids.__getitem__)
        clusters = None if self.clusters is None else [self.clusters[place] for place in places]
        names = [[self.item_ids[place] for place in places], clusters]
        return json.dumps(names, ensure_ascii=False, separators=(",", ":")).encode(), self.numbers[places]


@dataclass(frozen=True, slots=True)
class Content:
    """What a run consists of, packed, with the hashes by which it is known again."""

    roster: bytes = field(repr=False)
    roster_sha256: str
    roster_size: int
    """Bytes of the roster before it was packed."""
    values: bytes = field(repr=False)
    sha256: str

    @classmethod
    def of(cls, run: NewRun) -> Content:
        """Return a run as it is stored: its roster and its values, compressed, and their hashes.

        Values are little-endian doubles on every machine, so that equal runs have equal hashes.
        """
        roster, numbers = run.order()
        values = numbers.astype("<f8").tobytes()
        roster_sha256 = hashlib.sha256(roster).hexdigest()
        sha256 = digest(roster_sha256, values)
        return cls(zlib.compress(roster), roster_sha256, len(roster), zlib.compress(values), sha256)


def digest(roster_sha256: str, values: bytes) -> str:
    """Return the hash of a run: of its items and its values, whatever it is called."""
    return hashlib.sha256(roster_sha256.encode() + values).hexdigest()


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """A run's values by item, and the items' clusters where they have some."""

    item_ids: Sequence[str]
    values: Floats
    clusters: Sequence[str] | None


@dataclass(frozen=True, slots=True)
class PackedRuns:
    """The runs since a reference, in order, as they are stored."""

    rosters: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    """Items and clusters by their hash: runs that share them name one."""
    runs: tuple[tuple[str, bytes], ...] = field(default=(), repr=False)
    """The roster's hash and the values of each."""
    size: int = 0
    """Bytes of all rosters before they were packed."""

    def with_run(self, content: Content) -> PackedRuns:
        """Return these and one more.

        Raises:
            Conflict: `series_full`.
        """
        new = content.roster_sha256 not in self.rosters
        size = self.size + (content.roster_size if new else 0)
        if size > MOST_TEXT:
            raise full()
        rosters = {**self.rosters, content.roster_sha256: content.roster}
        return PackedRuns(rosters, (*self.runs, (content.roster_sha256, content.values)), size)

    def columns(self) -> list[Column]:
        """Return the values of every run with its items, in the order of the runs."""
        rosters = {sha256: json.loads(zlib.decompress(packed)) for sha256, packed in self.rosters.items()}
        return [
            Column(
                rosters[sha256][0], np.frombuffer(zlib.decompress(values), dtype="<f8"), rosters[sha256][1]
            )
            for sha256, values in self.runs
        ]


def full() -> Conflict:
    """Tell whether a series takes no more runs since its reference."""
    return Conflict(
        f"a series holds {MOST_RUNS} runs, {MOST_CELLS} values and {MOST_TEXT >> 20} MiB of names since its reference: "
        "name this run as the new reference",
        code="series_full",
    )


class Series(Record):
    """A series as it is kept."""

    id: str
    name: str
    settings: SeriesSettings
    created_at: datetime


class Point(Record):
    """A run of a series, judged when it came in."""

    number: int = Field(description="In the series, from 1.")
    name: str = Field(description="What it is called.")
    reference: bool = Field(description="One of the runs that others are compared with.")
    period: int = Field(description="Since which reference, from 1.")
    hypothesis: int = Field(description="Which period of the whole project this is, from 1.")
    sha256: str = Field(description="SHA-256 of its items and values.")
    standing: RunStanding
    discovered: bool = Field(description="A drop is told among all series of the project.")
    received_at: datetime


def is_reference(run: NewRun, before: Sequence[Point]) -> bool:
    """Tell whether a run is a reference; the first of a series always is."""
    return run.reference or not before


def period_of(run: NewRun, before: Sequence[Point]) -> int:
    """Return the period; a reference after other runs begins a new one."""
    if not before:
        return 1
    last = before[-1]
    return last.period + int(run.reference and not last.reference)


def judge(columns: Sequence[Column], n_reference: int, settings: SeriesSettings) -> RunStanding:
    """Return the last of these runs against those before it in its period; the first `n_reference` are the reference.

    Raises:
        InvalidData: clusters that come or go, or a margin in a unit that the values do not have.
        Conflict: `series_full`.
    """
    newest = columns[-1]
    if any((column.clusters is None) != (newest.clusters is None) for column in columns):
        raise InvalidData.field(
            "clusters",
            "come or go within a series",
            "send them with every run since the reference, or with none",
        )
    items = {item: place for place, item in enumerate(dict.fromkeys(i for c in columns for i in c.item_ids))}
    if len(columns) > MOST_RUNS or len(columns) * len(items) > MOST_CELLS:
        raise full()
    values = np.full((len(columns), len(items)), np.nan)
    clusters: dict[str, str] = {}
    for row, column in zip(values, columns, strict=True):
        row[[items[item] for item in column.item_ids]] = column.values
        for item, label in zip(column.item_ids, column.clusters or (), strict=False):
            clusters.setdefault(item, label)
    runs = Runs(
        values,
        [clusters[item] for item in items] if newest.clusters is not None else None,
        n_reference,
        compute_accepted_drop(settings.margin, values, "settings.margin"),
        settings.better == "lower",
        nights=settings.nights,
        every=settings.false_alarm_every,
    )
    return next(runs.stand(first=len(columns) - 1))


def is_discovered(log_e: float, hypothesis: int, discovered_before: int) -> bool:
    """Tell by e-LOND: evidence of the `hypothesis`-th series at 1 / (rate gamma_j (discoveries before + 1)) or more.

    gamma_j is 1/(j (j + 1)). The expected share of false ones among all that are told is at most the rate.

    Source: Xu & Ramdas (2024), arXiv:2311.06412.
    """
    share = DISCOVERY_RATE / (hypothesis * (hypothesis + 1)) * (discovered_before + 1)
    return log_e >= -math.log(share)
