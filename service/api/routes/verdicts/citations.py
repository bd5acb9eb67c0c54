"""How a lock or a verdict is cited: CITATION.cff and BibTeX."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Path, Response

from service.actions.verdicts import citations as actions
from service.api.examples import exports as examples
from service.api.http.answers.attested import attest
from service.api.http.requests.deps import Reader, RecordId, Shared
from service.api.http.serving.route import audits, make_router, refuses
from service.api.http.shared import Services
from service.domain.access import Key
from service.errors import NotFound
from service.reports.exports.citation import MEDIA_TYPES, CitationForm, print_citation
from service.store.plans import preregistrations

routes = make_router("verdicts")

Printed = Annotated[str, Path(max_length=8, description="`cff` or `bib`.")]
_EXAMPLES: dict[CitationForm, str] = {"cff": examples.CFF, "bib": examples.BIBTEX}
_SHOWN: dict[int | str, dict[str, Any]] = {
    200: {
        "content": {
            kind.partition(";")[0]: {"schema": {"type": "string"}, "example": _EXAMPLES[form]}
            for form, kind in MEDIA_TYPES.items()
        }
    }
}


@routes.get(
    "/preregistrations/{prereg_id}/citation.{form}", response_class=Response, responses=_SHOWN | refuses(409)
)
@audits("verdict.read")
def get_citation(caller: Reader, shared: Shared, prereg_id: RecordId, form: Printed) -> Response:
    """Read how the record is cited: CITATION.cff (version 1.2.0) or BibTeX.

    Of the verdict once there is one, of the lock before: title, authors (the project where the plan names none), date,
    the hashes of plan and verdict, and the signed checkpoint of the ledger that holds the leaf.
    """
    return answer_citation(shared, caller, prereg_id, require_citation(form))


def require_citation(form: str) -> CitationForm:
    """Return the form of citation that a path names.

    Raises:
        NotFound: there is no such form.
    """
    if form not in MEDIA_TYPES:
        raise NotFound("no such citation; there are citation.cff and citation.bib")
    return form


def answer_citation(shared: Services, caller: Key, prereg_id: str, form: CitationForm) -> Response:
    """Answer with the citation of a record that the caller may read, once a checkpoint holds its leaf."""
    with shared.database.read() as session:
        leaf = actions.leaf_of(session, preregistrations.get(session, caller.project_id, prereg_id))
    attest(shared, Response(), leaf.sequence)
    with shared.database.read() as session:
        record = preregistrations.get(session, caller.project_id, prereg_id)
        text = print_citation(actions.cite(session, record, shared.settings.public_url), form)
    name = "CITATION.cff" if form == "cff" else f"{prereg_id}.bib"
    headers = {"Cache-Control": "private, no-cache", "Content-Disposition": f'attachment; filename="{name}"'}
    return Response(text, 200, headers, MEDIA_TYPES[form])
