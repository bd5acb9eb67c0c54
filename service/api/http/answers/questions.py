"""The answer to a question about uploaded files, computed in a process of its own; the page and the API share it."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import Request

from service.api.calculators.pool import CalculatorLost
from service.api.calculators.questions import SECONDS, Answered, ask
from service.api.http.shared import services
from service.api.parsing.multipart import Sent
from service.errors import Unavailable


async def answer_to(
    request: Request, arguments: Sequence[str], names: Sequence[str], files: Sequence[Sent]
) -> Answered:
    """What `forelock ARGUMENTS` answers where files of these names lie.

    Raises:
        InvalidData: the files or the options are refused, with the way out.
        Unavailable: it took longer, or more memory, than an answer may.
    """
    shared = services(request)
    try:
        return await shared.calculators.run(
            request,
            ask,
            arguments,
            names,
            [len(file.content) for file in files],
            str(shared.settings.data_dir / "scratch"),
            body=[file.content for file in files],
            seconds=SECONDS,
        )
    except CalculatorLost:
        raise Unavailable("it takes too long here: ask the command line") from None
