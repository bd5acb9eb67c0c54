"""Pictures as answers: drawn in a calculator, remembered for a while, and tagged by what they are made of."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import Depends, Query, Request
from starlette.responses import Response

from service.api.calculators import aside
from service.api.calculators.pool import CalculatorLost
from service.api.http.requests.body import READ_SECONDS
from service.api.http.requests.deps import not_modified
from service.api.http.shared import services
from service.domain.recent import Recent
from service.errors import InvalidData, Unavailable
from service.reports.charts.draw import VERSION, Form
from service.reports.charts.narrow import narrowed
from service.reports.charts.on_page import for_paper
from service.reports.charts.style import Spec, Theme, for_both, themed

ChartForm = Literal["json", "svg", "png", "pdf"]
MEDIA: dict[ChartForm, str] = {
    "json": "application/json",
    "svg": "image/svg+xml",
    "png": "image/png",
    "pdf": "application/pdf",
}
ON_PAPER = Annotated[Theme, Query(description="`light` for paper, `dark` for dark pages.")]
CLOSED = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
"""Of a picture that is opened as a page: it runs nothing and loads nothing."""

Width = Annotated[
    int | None,
    Query(
        ge=40,
        le=400,
        description="In millimetres: 85 is one column of a journal, 180 both; null: for a screen.",
    ),
]
Serif = Annotated[bool, Query(description="With `width`: letters as in most papers.")]
Mono = Annotated[bool, Query(description="With `width`: greys alone.")]


@dataclass(frozen=True, slots=True)
class Column:
    """Where a journal sets a picture."""

    mm: int | None
    serif: bool = False
    mono: bool = False

    @classmethod
    def of(cls, width: Width = None, serif: Serif = False, mono: Mono = False) -> Column:
        """As the query says it.

        Raises:
            InvalidData: letters or greys of no width.
        """
        if width is None and (serif or mono):
            raise InvalidData.field(
                "query.width", "is not there", "name it with serif or mono: 85 for a column, 180 for both"
            )
        return cls(width, serif, mono)


SCREEN = Column(None)
ON_COLUMN = Annotated[Column, Depends(Column.of)]
_DRAWN: Recent[tuple[str, Form, int | None], bytes] = Recent(16 * 2**20, most=256)


def shows_picture(example: Any) -> dict[int | str, dict[str, Any]]:
    """`responses=` entry: the spec as JSON, or the drawn picture."""
    drawn = {"schema": {"type": "string", "format": "binary"}}
    return {
        200: {
            "content": {
                MEDIA["json"]: {"schema": {"type": "object"}, "example": example},
                **{MEDIA[form]: drawn for form in ("svg", "png", "pdf")},
            }
        }
    }


async def pictured(
    request: Request,
    spec: Spec,
    form: ChartForm,
    theme: Theme | Literal["both"] = "light",
    *,
    narrow: bool = False,
    column: Column = SCREEN,
) -> Response:
    """The picture as an answer, `narrow` for a phone; for `both` an SVG is as light or dark as its page.

    Its tag follows from its numbers: while they stay, it need not be sent again.

    Raises:
        Unavailable: it could not be drawn in time.
    """
    on_page = theme == "both" and form == "svg"
    if column.mm is not None:
        spec = for_paper(spec, column.mm, serif=column.serif, mono=column.mono)
    body = json.dumps(
        themed(narrowed(spec) if narrow else spec, "dark" if theme == "dark" else "light"),
        ensure_ascii=False,
        separators=(",", ":"),
        allow_nan=False,
    ).encode()
    tag = hashlib.sha256(body).hexdigest()
    etag = f'"{tag[:32]}-{form}-{VERSION}{"-both" if on_page else ""}{f"-{column.mm}" if column.mm else ""}"'
    headers = {"ETag": etag, "Cache-Control": "private, no-cache", "Content-Security-Policy": CLOSED}
    unchanged = not_modified(request, etag)
    if unchanged is not None:
        unchanged.headers.update(headers)
        return unchanged
    drawn = body if form == "json" else await drawn_by_calculator(request, body, form, tag, column.mm)
    return Response(for_both(drawn) if on_page else drawn, 200, headers, MEDIA[form])


async def drawn_by_calculator(
    request: Request, spec: bytes, form: Form, tag: str | None = None, mm: int | None = None
) -> bytes:
    """The picture of a spec as JSON, from those that were drawn a moment ago where it is there."""
    key = (tag or hashlib.sha256(spec).hexdigest(), form, mm)
    picture = _DRAWN.get(key)
    if picture is None:
        try:
            picture = await services(request).calculators.run(
                request, aside.picture, form, mm, body=[spec], seconds=READ_SECONDS
            )
        except CalculatorLost:
            raise Unavailable("the picture could not be drawn in time: repeat the request shortly") from None
        _DRAWN.add(key, picture, len(picture))
    return picture
