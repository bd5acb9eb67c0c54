"""How sure one system's score is: its rows as the body of a score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from forelock.questions.amounts import range_of
from forelock.questions.asked import Asked
from forelock.questions.reading import read_for
from forelock.questions.systems import one
from forelock.questions.table import Reading
from forelock.questions.tasks import suite_body

if TYPE_CHECKING:
    from forelock.client import Client
    from forelock.local import Local

Json = dict[str, Any]


def score(
    asked_of: Client | Local,
    paths: Sequence[str],
    asked: Asked,
    request: Json,
    *,
    scores: str | None = None,
) -> tuple[Json, Reading]:
    """The score of one system from one file or several, and how they were read.

    Args:
        request: what the score is asked with beside the rows.
        scores: the range of scores, such as `1..5`.

    Raises:
        FileFault: a file that is not read, a measure that is not there, or several systems and none named.
    """

    def body(reading: Reading) -> Json:
        (system,) = reading.systems
        scale = {} if scores is None else {"range": range_of(scores)}
        prefers = {"prefers": "lower"} if reading.lower else {}
        return {**system.columns(), **scale, **prefers, **suite_body(reading, asked), **request}

    reading = read_for(asked_of, [paths], asked, one, lambda reading: asked_of.score(body(reading)))
    return asked_of.score(body(reading)), reading
