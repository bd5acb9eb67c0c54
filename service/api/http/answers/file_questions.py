"""The answer to a question about uploaded files, computed in a process of its own; the page and the API share it."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import Request

from service.api.calculators.command_line import SECONDS, QuestionAnswer, ask
from service.api.calculators.pool import CalculatorLost
from service.api.http.shared import get_services
from service.api.parsing.multipart import SentFile
from service.errors import Unavailable


async def answer_question(
    request: Request, arguments: Sequence[str], names: Sequence[str], files: Sequence[SentFile]
) -> QuestionAnswer:
    """Compute what `forelock ARGUMENTS` answers in a folder that holds the files under these names.

    Raises:
        InvalidData: the files or the options are refused, with the way out.
        Unavailable: the answer took more time or memory than one may.
    """
    shared = get_services(request)
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
