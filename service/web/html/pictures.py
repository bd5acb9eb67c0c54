"""Pictures that stand in a page: each is drawn twice, for a desk and for a phone, and the style sheet shows one."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import Request
from markupsafe import Markup

from service.api.http.answers.drawing import draw_in_calculator
from service.api.http.answers.reporting import pack_json
from service.errors import ForelockError
from service.reports.charts.narrow import make_narrow
from service.reports.charts.style import Spec
from service.web.html.rendering import drawn_here


@dataclass(frozen=True, slots=True)
class Drawn:
    """A picture as SVG, in both of its shapes."""

    wide: Markup
    narrow: Markup


async def drawn_for_page(request: Request, spec: Spec) -> Drawn | None:
    """Return the picture of a spec; None where it cannot be drawn in time, for a page is whole without its pictures."""
    try:
        wide, narrow = [
            await draw_in_calculator(request, pack_json(drawing), "svg")
            for drawing in (spec, make_narrow(spec))
        ]
    except ForelockError:
        return None
    for use in (b'id="clip', b"url(#clip"):  # names of a page are each of one thing
        narrow = narrow.replace(use, use.replace(b"clip", b"narrow-clip"))
    return Drawn(drawn_here(wide), drawn_here(narrow))
