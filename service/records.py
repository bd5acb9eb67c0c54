"""What records are made of: closed, frozen, and without infinities."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """A record: fields are those that are declared, nothing is changed afterwards, and every number is finite."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class StrictRecord(Record):
    """A record that takes no value for another kind: no "1" for 1."""

    model_config = ConfigDict(strict=True)
