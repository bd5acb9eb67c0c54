"""A file looked through before it is read, as `survey` answers."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from service.ingest import surveys
from service.ingest.documents.files import Files


def survey_of(path: Path, form: str) -> Any:
    with ExitStack() as stack:
        return surveys.survey(Files.at([path], stack), form)
