"""The multiverse of a verdict: the same rows under the other choices on record."""

from __future__ import annotations

from fastapi import Response

from service.actions.verdicts import multiverse as actions
from service.api.examples import multiverse as examples
from service.api.http.answers.answers import answer, shows
from service.api.http.requests.deps import Reader, ReadSession, RecordId
from service.api.http.serving.route import audits, make_router, refuses
from service.api.routes.verdicts.verdicts import require_verdict
from service.domain.multiverse.records import Multiverse
from service.store.plans import preregistrations

routes = make_router("verdicts")


@routes.get(
    "/preregistrations/{prereg_id}/multiverse",
    response_model=Multiverse,
    responses=shows(examples.MULTIVERSE) | refuses(409),
)
@audits("multiverse.read")
def get_multiverse(caller: Reader, session: ReadSession, prereg_id: RecordId) -> Response:
    """Read the verdict under the other choices on record.

    Every deviation that can be applied to the stored rows is taken as planned and as deviated, and every declared
    sweep at each value with results: each alone, each reversed, and all combinations up to a cap. For every
    hypothesis it tells in what share of these universes its rule holds. The verdict itself stays as it is. Before it is
    there the answer is 409, as that of the verdict.
    """
    record = preregistrations.get(session, caller.project_id, prereg_id)
    verdict = require_verdict(session, record).read()
    return answer(actions.of_verdict(session, record, verdict))
