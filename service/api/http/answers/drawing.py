"""Pictures as answers: drawn in a calculator, remembered for a while, and tagged by what they are made of."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import Depends, Query, Request
from starlette.responses import Response

from service.api.calculators import handlers
from service.api.calculators.pool import CalculatorLost
from service.api.http.requests.body import READ_SECONDS
from service.api.http.requests.deps import answer_not_modified
from service.api.http.shared import get_services
from service.domain.recent import Recent
from service.errors import InvalidData, Unavailable
from service.reports.charts.draw import VERSION, Form
from service.reports.charts.narrow import make_narrow
from service.reports.charts.on_page import for_paper
from service.reports.charts.style import Spec, Theme, apply_theme, for_both

ChartForm = Literal["json", "svg", "png", "pdf"]
MEDIA: dict[ChartForm, str] = {
    "json": "application/json",
    "svg": "image/svg+xml",
    "png": "image/png",
    "pdf": "application/pdf",
}
ON_PAPER = Annotated[Theme, Query(description="`light` for paper, `dark` for dark pages.")]
CLOSED = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
"""Content-Security-Policy of a picture that is opened as a page: it runs nothing and loads nothing."""

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
    """The column of a journal that a picture is drawn for."""

    mm: int | None
    """Its width in millimetres; None: the picture is for a screen."""
    serif: bool = False
    mono: bool = False
    """Greys alone."""

    @classmethod
    def of(cls, width: Width = None, serif: Serif = False, mono: Mono = False) -> Column:
        """Make the column that a query asks for.

        Raises:
            InvalidData: serif or mono is asked for without a width.
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
    """Return the entry of `responses=` that shows the spec as JSON, or the drawn picture, in OpenAPI."""
    drawn = {"schema": {"type": "string", "format": "binary"}}
    return {
        200: {
            "content": {
                MEDIA["json"]: {"schema": {"type": "object"}, "example": example},
                **{MEDIA[form]: drawn for form in ("svg", "png", "pdf")},
            }
        }
    }


async def answer_picture(
    request: Request,
    spec: Spec,
    form: ChartForm,
    theme: Theme | Literal["both"],
    *,
    narrow: bool = False,
    column: Column = SCREEN,
) -> Response:
    """Answer with a picture, drawn from its spec; `narrow` for a phone.

    With the theme `both` an SVG is as light or dark as the page that shows it. The ETag follows from the spec, numbers
    included: while they stay, the picture is neither drawn nor sent again.

    Raises:
        Unavailable: the picture could not be drawn in time.
    """
    on_page = theme == "both" and form == "svg"
    if column.mm is not None:
        spec = for_paper(spec, column.mm, serif=column.serif, mono=column.mono)
    body = json.dumps(
        apply_theme(make_narrow(spec) if narrow else spec, "dark" if theme == "dark" else "light"),
        ensure_ascii=False,
        separators=(",", ":"),
        allow_nan=False,
    ).encode()
    tag = hashlib.sha256(body).hexdigest()
    etag = f'"{tag[:32]}-{form}-{VERSION}{"-both" if on_page else ""}{f"-{column.mm}" if column.mm else ""}"'
    headers = {"ETag": etag, "Cache-Control": "private, no-cache", "Content-Security-Policy": CLOSED}
    unchanged = answer_not_modified(request, etag)
    if unchanged is not None:
        unchanged.headers.update(headers)
        return unchanged
    drawn = body if form == "json" else await draw_in_calculator(request, body, form, tag, column.mm)
    return Response(for_both(drawn) if on_page else drawn, 200, headers, MEDIA[form])


async def draw_in_calculator(
    request: Request, spec: bytes, form: Form, tag: str | None = None, mm: int | None = None
) -> bytes:
    """Draw the picture of a spec, given as JSON, in a calculator; one that was drawn a moment ago is remembered.

    `tag` is the SHA-256 of the spec, where the caller has it; `mm` the width on paper, None for a screen.

    Raises:
        Unavailable: the picture could not be drawn in time.
    """
    key = (tag or hashlib.sha256(spec).hexdigest(), form, mm)
    picture = _DRAWN.get(key)
    if picture is None:
        try:
            picture = await get_services(request).calculators.run(
                request, handlers.draw_picture, form, mm, body=[spec], seconds=READ_SECONDS
            )
        except CalculatorLost:
            raise Unavailable("the picture could not be drawn in time: repeat the request shortly") from None
        _DRAWN.add(key, picture, len(picture))
    return picture
