"""Rows as a file, once they may be read."""

from __future__ import annotations

from typing import Any, BinaryIO

from fastapi import Response

from service.actions.verdicts import rows
from service.api.http.answers.files import download
from service.api.http.requests.deps import Reader, RecordId, Shared
from service.api.http.serving.route import audits, make_router, refuses
from service.api.http.shared import Services
from service.domain.access import Key
from service.reports.rows_csv import write_rows
from service.store.plans import preregistrations

routes = make_router("results")
CSV = "text/csv"
_HEAD = "population,arm,endpoint,run,item_id,replicate,value,status,observed_at,batch"
_EXAMPLE = f'{_HEAD}\r\n"locomo","C1","accuracy","","conv-1/q-7",1,1.0,"ok","",1\r\n'


class CsvResponse(Response):
    """An answer that is a table of rows as CSV."""

    media_type = CSV


_SHOWN: dict[int | str, dict[str, Any]] = {
    200: {"content": {CSV: {"schema": {"type": "string"}, "example": _EXAMPLE}}}
}


@routes.get(
    "/preregistrations/{prereg_id}/results.csv", response_class=CsvResponse, responses=_SHOWN | refuses(409)
)
@audits("results.read")
def get_results_csv(caller: Reader, shared: Shared, prereg_id: RecordId) -> Response:
    """Download the rows after the verdict as CSV, in the order they were posted. Before it: 409 `blinded`.

    Text that a spreadsheet would compute, or that begins with an apostrophe, has an apostrophe before it.
    """
    return answer_rows_file(shared, caller, prereg_id)


def answer_rows_file(shared: Services, caller: Key, prereg_id: str) -> Response:
    """Answer with the rows of a record as a CSV file, which is whole before anything of it is sent.

    Raises:
        Conflict: the rows may not be read yet, or there are none.
    """

    def write(file: BinaryIO) -> int:
        with shared.database.read() as session:
            record = preregistrations.get(session, caller.project_id, prereg_id)
            return write_rows(rows.every(session, record), file)

    headers = {"Cache-Control": "no-store"}
    return download(write, f"{prereg_id}.csv", f"{CSV}; charset=utf-8", headers)
