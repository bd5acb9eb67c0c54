"""Two arms on the same items as a fourfold table: what the tests of binary pairs share."""

from __future__ import annotations

from functools import cached_property
from struct import pack
from typing import Annotated, Any, Literal, Self, cast, overload

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationInfo, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema
from scipy import special
from typing_extensions import override

from service.errors import Fault, InvalidData
from service.kernels.pairs import tango
from service.kernels.pairs.paired_intervals import newcombe_interval, wald_interval
from service.records import Record
from service.stats.shared.declaring.columns import require_equal_lengths, require_size
from service.stats.shared.declaring.common import Column, Count, Request
from service.stats.shared.declaring.sentences import bound_text
from service.stats.shared.declaring.warnings import define

Booleans = NDArray[np.bool_]
IntervalMethod = Literal["tango", "newcombe", "wald"]

P_FLOOR = 1e-300
"""Smaller p-values are given as this bound."""

NO_DISCORDANT = define(
    "NO_DISCORDANT", "caution", "Fagerland, Lydersen & Laake (2013), BMC Med Res Methodol 13:91"
)
FEW_DISCORDANT = define("FEW_DISCORDANT", "caution", "Berg-Kirkpatrick, Burkett & Klein (2012), EMNLP, 995")


class PairedCounts(Record):
    """The fourfold table of two arms on the same items."""

    both_correct: int = Field(description="Items both arms answer correctly, a count.")
    only_baseline: int = Field(description="Items only the baseline answers correctly, a count.")
    only_candidate: int = Field(description="Items only the candidate answers correctly, a count.")
    both_wrong: int = Field(description="Items both arms answer wrongly, a count.")

    @property
    def n(self) -> int:
        """The number of items, those on which the arms agree included."""
        return self.both_correct + self.only_baseline + self.only_candidate + self.both_wrong

    @property
    def n_discordant(self) -> int:
        """Items that one arm alone answers correctly."""
        return self.only_baseline + self.only_candidate

    @property
    def delta(self) -> float:
        """Candidate's share correct minus the baseline's."""
        return (self.only_candidate - self.only_baseline) / self.n

    def ends(self, level: float) -> dict[IntervalMethod, tuple[float, float]]:
        """Return the ends of every two-sided interval of delta, by its method."""
        b, c, z = self.only_candidate, self.only_baseline, float(special.ndtri(0.5 + level / 2))
        return {
            "tango": tango.interval(b, c, self.n, z),
            "newcombe": newcombe_interval(self.both_correct, c, b, self.both_wrong, z),
            "wald": wald_interval(b, c, self.n, z),
        }


class FourCounts(Request):
    """The four counts of two binary arms on the same items, instead of columns."""

    both_correct: Count | None = Field(None, description="Items both arms answer correctly, a count.")
    only_baseline: Count | None = Field(
        None, description="Items only the baseline answers correctly, a count."
    )
    only_candidate: Count | None = Field(
        None, description="Items only the candidate answers correctly, a count."
    )
    both_wrong: Count | None = Field(None, description="Items both arms answer wrongly, a count.")

    def _require_one_form(self, baseline: object, candidate: object) -> None:
        """Refuse anything but both columns or all four counts; the counts must hold an item."""
        columns = (baseline, candidate)
        counts = (self.both_correct, self.only_baseline, self.only_candidate, self.both_wrong)
        has_columns, has_counts = None not in columns, None not in counts
        if has_columns == has_counts or any(x is not None for x in (counts if has_columns else columns)):
            fix = "send baseline and candidate, or both_correct, only_baseline, only_candidate and both_wrong"
            raise InvalidData(
                "send either the two columns or all four counts",
                [Fault("", "neither form is complete, or both were sent", fix)],
            )
        if not has_columns and sum(count for count in counts if count) == 0:
            raise InvalidData.field("both_correct", "all four counts are 0", "send at least one item")

    @property
    def four(self) -> PairedCounts:
        """The counts as sent, absent ones as 0."""
        return PairedCounts(
            both_correct=self.both_correct or 0,
            only_baseline=self.only_baseline or 0,
            only_candidate=self.only_candidate or 0,
            both_wrong=self.both_wrong or 0,
        )


class _OneValuePerItem:
    """A column that names the mistake of sending replicates.

    A validator in Python has JSON made into objects first, which takes several times as long as to read
    numbers; it is asked only when the column is refused, and finds the same faults otherwise.
    """

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        column = handler(source)
        explained = core_schema.with_info_before_validator_function(_refuse_replicates, column)
        return core_schema.union_schema([column, explained], mode="left_to_right")

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return handler(cast(core_schema.UnionSchema, schema)["choices"][0])  # type: ignore[arg-type]


def _refuse_replicates(value: Any, info: ValidationInfo) -> Any:
    if isinstance(value, list) and value and isinstance(value[0], list):
        raise InvalidData.field(
            str(info.field_name),
            "holds several values per item, which are no independent items",
            "use paired-bootstrap or randomization, which average replicates within the item, or "
            "send one value per item",
        )
    return value


PlainColumn = Annotated[Column, _OneValuePerItem()]


class _Columns(Request):
    """The two columns; first in the schema."""

    baseline: PlainColumn | None = Field(None, description="Baseline arm, one value per item.")
    candidate: PlainColumn | None = Field(None, description="Candidate arm, one value per item, same order.")


class PairsRequest(FourCounts, _Columns):
    """Two columns, or the four counts of two binary arms on the same items."""

    @model_validator(mode="after")
    def _require_columns_or_counts(self) -> Self:
        self._require_one_form(self.baseline, self.candidate)
        if self.baseline is not None:
            self._check_columns()
        return self

    def _check_columns(self) -> None:
        require_equal_lengths({"baseline": self.baseline or [], "candidate": self.candidate or []})

    @cached_property
    def arrays(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Baseline and candidate as float arrays of shape (n,); empty when counts were sent."""
        baseline = np.array(self.baseline or [], dtype=np.float64)
        candidate = np.array(self.candidate or [], dtype=np.float64)
        require_size(baseline, "baseline")
        require_size(candidate, "candidate")
        return baseline, candidate

    @cached_property
    def right(self) -> Booleans | None:
        """Which items the baseline has right and which the candidate, (2, n), of two columns as long as each other.

        None for counts and for other columns. A 0 with a sign is not of these: JSON shows the sign.
        """
        n = len(self.baseline or ())
        if not (self.baseline and self.candidate) or len(self.candidate) != n:
            return None
        # three times as quick as numpy's own walk over lists
        packed = pack(f"{2 * n}d", *self.baseline, *self.candidate)
        bits = np.frombuffer(packed, dtype=np.int64).reshape(2, n)
        right: Booleans = bits == _ONE
        return right if np.count_nonzero(right) == np.count_nonzero(bits) else None

    @cached_property
    def table(self) -> PairedCounts:
        """The fourfold table, from either form; refuses columns that are not binary."""
        if self.baseline is None:
            return self.four
        if self.right is None:
            return tabulate(*self.arrays)
        baseline, candidate = self.right
        both, n = int(np.count_nonzero(baseline & candidate)), len(baseline)
        right_baseline, right_candidate = int(np.count_nonzero(baseline)), int(np.count_nonzero(candidate))
        return PairedCounts(
            both_correct=both,
            only_baseline=right_baseline - both,
            only_candidate=right_candidate - both,
            both_wrong=n - right_baseline - right_candidate + both,
        )

    @override
    def json_bytes(self) -> bytes:
        """Return the data as compact JSON in schema order; columns of 0 and 1, which most are, by adding."""
        if self.right is None:
            return super().json_bytes()
        spelled = (_SPELLED + self.right).tobytes()
        baseline, candidate = spelled[: len(spelled) // 2 - 1], spelled[len(spelled) // 2 : -1]
        others = self.__pydantic_serializer__.to_json(self, exclude=_COLUMNS)
        return b'{"baseline":[%b],"candidate":[%b],%b' % (baseline, candidate, others[1:])


class BinaryPairsRequest(PairsRequest):
    """Two arms on the same items, each right (1) or wrong (0)."""

    @model_validator(mode="after")
    def _require_binary(self) -> Self:
        _ = self.table
        return self


_COLUMNS = {"baseline", "candidate"}
_SPELLED = np.frombuffer(b"0.0,", "<u4")
"""How JSON spells a 0 in a column, as a number of four bytes; one more spells a 1."""
_ONE = np.float64(1).view(np.int64)


def tabulate(baseline: NDArray[np.float64], candidate: NDArray[np.float64]) -> PairedCounts:
    """Return the fourfold table of two columns (n,) of 0 and 1; refuses other values."""
    for name, column in (("baseline", baseline), ("candidate", candidate)):
        # x * x = x holds for 0 and 1 alone
        if not np.array_equal(column * column, column):
            raise InvalidData.field(
                name, "holds values other than 0 and 1", "this method is for binary outcomes"
            )
    both = int(baseline @ candidate)
    right_baseline, right_candidate = int(baseline.sum()), int(candidate.sum())
    return PairedCounts(
        both_correct=both,
        only_baseline=right_baseline - both,
        only_candidate=right_candidate - both,
        both_wrong=len(baseline) - right_baseline - right_candidate + both,
    )


@overload
def apply_floor(p: float, path: str, bounds: dict[str, str], floor: float = P_FLOOR) -> float: ...
@overload
def apply_floor(p: None, path: str, bounds: dict[str, str], floor: float = P_FLOOR) -> None: ...
@overload
def apply_floor(
    p: float | None, path: str, bounds: dict[str, str], floor: float = P_FLOOR
) -> float | None: ...
def apply_floor(p: float | None, path: str, bounds: dict[str, str], floor: float = P_FLOOR) -> float | None:
    """Return the p-value, or `floor` with an entry in `bounds` when p lies below what the method resolves."""
    if p is not None and p < floor:
        bounds[path] = bound_text(floor)
        return floor
    return p
