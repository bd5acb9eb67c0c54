"""Calls that read a record as a file: its documents, reports, checklists, pictures and exports."""

from __future__ import annotations

from typing import Any, Literal

from forelock.after import AfterCalls
from forelock.incoming import read_text
from forelock.paths import part, record

ReportForm = Literal["md", "html", "tex", "pdf", "json"]
"""The forms of a verdict's report."""
ChartForm = Literal["svg", "png", "pdf", "json"]
StandardName = Literal["gpai", "neurips", "nist", "reforms"]
"""Reporting standards whose checklists a record fills."""


class DocumentCalls(AfterCalls):
    """What a client can read of a record as a file."""

    def document(self, preregistration_id: str, name: str, *, language: str = "en") -> str:
        """Return a record's document in Markdown: `prereg`, `osf`, `aspredicted`, `deviations` or `evidence`."""
        path = f"{record(preregistration_id)}/{part(name)}.md"
        return read_text(self._send("GET", path, params={} if language == "en" else {"lang": language}))

    def report(
        self,
        preregistration_id: str,
        form: ReportForm = "md",
        *,
        standard: StandardName | None = None,
        language: str = "en",
    ) -> bytes:
        """Return the verdict as a statistical report: Markdown, a page, LaTeX, a PDF, or JSON.

        With `standard`, its checklist filled from the record instead, in any form but LaTeX.
        """
        path = f"{record(preregistration_id)}/report.{part(form)}"
        query = {"lang": language} if standard is None else {"lang": language, "form": standard}
        return self._send("GET", path, params=query).content

    def chart(
        self,
        preregistration_id: str,
        name: str,
        form: ChartForm = "svg",
        *,
        hypothesis: str | None = None,
        language: str = "en",
        width: int | None = None,
        serif: bool = False,
        mono: bool = False,
    ) -> bytes:
        """Return a picture of a record, such as `forest`; `width` in millimetres sets it for a column of a journal."""
        parameters: dict[str, Any] = {
            "hypothesis": hypothesis,
            "width": width,
            "serif": serif or None,
            "mono": mono or None,
        }
        query = {
            name: str(value).lower() if value is True else str(value)
            for name, value in parameters.items()
            if value
        }
        path = f"{record(preregistration_id)}/charts/{part(name)}.{part(form)}"
        return self._send("GET", path, params={"lang": language, **query}).content

    def export(
        self, preregistration_id: str, name: str, *, hypothesis: str | None = None, **query: str
    ) -> bytes:
        """A record for the tools of others: `lock.intoto.json`, `verdict.dsse.json`, `prml` or another of that list.

        `query` has what an export of a score asks for, such as `dataset`, `task` and `model`.
        """
        parameters = query if hypothesis is None else {**query, "hypothesis": hypothesis}
        return self._send("GET", f"{record(preregistration_id)}/{part(name)}", params=parameters).content
