"""The `import` section of a table: how its columns become rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field

from service.domain.plans.importing.mapping import NoScore, Readable
from service.domain.plans.strings import Line


class TableImport(Readable):
    """Rows of any origin: CSV, NDJSON or Parquet. Paths name columns, the arm's too."""

    DEFAULTS: ClassVar[Mapping[str, str]] = {"item_id": "item_id", "metric": "value", "unscored": "missing"}
    VALUES: ClassVar[Mapping[str, float]] = {}
    INTEGER_IDS: ClassVar[bool] = False

    format: Literal["csv", "ndjson", "parquet"] = Field(description="Names this format.")
    metric: Line | None = Field(None, description="Column of the values; null: `value`.")
    status: Line | None = Field(
        None, description="Column that says `ok`, `error` or `missing`; null: there is none."
    )
    integer_ids: Literal["text"] | None = Field(
        None, description="`text` reads ids that are numbers as their digits; null: they are refused."
    )
    unscored: NoScore | None = Field(None, description="What a row without value counts as; null: `missing`.")
