"""Verdicts in the formats of others: in-toto statements, files of the Hugging Face Hub, OpenTelemetry events."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

from fastapi import Query, Response
from sqlalchemy.orm import Session

from service.actions.ledger import exports as ledger_exports
from service.actions.verdicts import exports as actions
from service.api.examples import exports as examples
from service.api.http.answers.answers import shows_file
from service.api.http.answers.attested import attest
from service.api.http.requests.deps import Reader, ReadSession, RecordId, Shared
from service.api.http.serving.route import audits, make_router, refuses
from service.api.http.shared import Services
from service.api.routes.verdicts.verdicts import require_verdict
from service.domain.access import Key
from service.domain.plans.preregistration import Preregistration
from service.reports.exports import hub, intoto, otlp
from service.store.ledger import ledger
from service.store.plans import preregistrations

routes = make_router("verdicts")

Hypothesis = Annotated[
    str | None, Query(max_length=64, description="Which one; may be left out where the plan has one.")
]
Dataset = Annotated[
    str,
    Query(
        min_length=1,
        max_length=200,
        pattern=r"^[\w.-]+(/[\w.-]+)?$",
        description="Id of the data set on the Hub.",
    ),
]
Name = Annotated[str, Query(min_length=1, max_length=200, pattern=r"^[\w .:/-]+$")]


@routes.get(
    "/preregistrations/{prereg_id}/verdict.intoto.json",
    response_class=Response,
    responses=shows_file(intoto.PAYLOAD_TYPE, examples.VERDICT_STATEMENT) | refuses(409),
)
@audits("verdict.read")
def get_verdict_statement(caller: Reader, shared: Shared, prereg_id: RecordId) -> Response:
    """Read the verdict as an in-toto Statement (v1) with the predicate `test-result`: canonical JSON, not signed.

    A hypothesis passes where it is supported, is warned where something stands against the verdict too, and fails with
    every other outcome. The subject is the verdict's text by the hash that the ledger has.
    """
    with _open_covered(shared, caller, prereg_id) as (session, record):
        payload = actions.statement(session, record, shared.settings.public_url)
    return Response(payload, media_type=intoto.PAYLOAD_TYPE)


@routes.get(
    "/preregistrations/{prereg_id}/verdict.dsse.json",
    response_class=Response,
    responses=shows_file(intoto.ENVELOPE_TYPE, examples.ENVELOPE) | refuses(409),
)
@audits("verdict.read")
def get_signed_verdict_statement(caller: Reader, shared: Shared, prereg_id: RecordId) -> Response:
    """Read the same in a DSSE envelope, signed with the key that signs the ledger: `keyid` is its verifier key."""
    with _open_covered(shared, caller, prereg_id) as (session, record):
        payload = actions.statement(session, record, shared.settings.public_url)
        envelope = ledger_exports.sign_statement(session, payload, shared.signer)
    return Response(envelope, media_type=intoto.ENVELOPE_TYPE)


@contextmanager
def _open_covered(shared: Services, caller: Key, prereg_id: str) -> Iterator[tuple[Session, Preregistration]]:
    """Open a session with a record that has a verdict, once a checkpoint holds it.

    Where none can be signed, the export itself says so.
    """
    with shared.database.read() as session:
        record = preregistrations.get(session, caller.project_id, prereg_id)
        require_verdict(session, record)
        receipt = ledger.read_receipts(session, prereg_id, kind="verdict")[-1]
    attest(shared, Response(), receipt.sequence)
    with shared.database.read() as session:
        yield session, preregistrations.get(session, caller.project_id, prereg_id)


@routes.get(
    "/preregistrations/{prereg_id}/verdict.otlp.json",
    response_class=Response,
    responses=shows_file(otlp.MEDIA_TYPE, examples.EVENTS) | refuses(409),
)
@audits("verdict.read")
def get_verdict_events(caller: Reader, session: ReadSession, prereg_id: RecordId) -> Response:
    """Read the verdict as OpenTelemetry events `gen_ai.evaluation.result`: what a collector takes at `/v1/logs`."""
    record = preregistrations.get(session, caller.project_id, prereg_id)
    stored = require_verdict(session, record)
    return Response(actions.events(session, record, stored), media_type=otlp.MEDIA_TYPE)


@routes.get(
    "/preregistrations/{prereg_id}/verdict.eval-results.yaml",
    response_class=Response,
    responses=shows_file(hub.MEDIA_TYPE, examples.EVAL_RESULTS) | refuses(409),
)
@audits("verdict.read")
def get_eval_results(
    caller: Reader,
    session: ReadSession,
    shared: Shared,
    prereg_id: RecordId,
    dataset: Dataset,
    task: Name,
    hypothesis: Hypothesis = None,
) -> Response:
    """Read the candidate's score as a file of `.eval_results/` of a model's repository on the Hugging Face Hub.

    Its notes say the interval, the outcome and what stands against it. `task` is the benchmark's, such as `default`.
    """
    record = preregistrations.get(session, caller.project_id, prereg_id)
    stored = require_verdict(session, record)
    scored = actions.make_scores(session, record, stored, hypothesis, shared.settings.public_url)
    return Response(hub.eval_results(scored, dataset=dataset, task=task), media_type=hub.MEDIA_TYPE)


@routes.get(
    "/preregistrations/{prereg_id}/verdict.model-index.yaml",
    response_class=Response,
    responses=shows_file(hub.MEDIA_TYPE, examples.MODEL_INDEX) | refuses(409),
)
@audits("verdict.read")
def get_model_index(
    caller: Reader,
    session: ReadSession,
    shared: Shared,
    prereg_id: RecordId,
    dataset: Dataset,
    task: Name,
    model: Name,
    hypothesis: Hypothesis = None,
) -> Response:
    """Read the candidate's score as the member `model-index` of a model card's front matter.

    `task` is a task type of the Hub, such as `text-generation`; `model` is what the card calls the model.
    """
    record = preregistrations.get(session, caller.project_id, prereg_id)
    stored = require_verdict(session, record)
    scored = actions.make_scores(session, record, stored, hypothesis, shared.settings.public_url)
    written = hub.model_index(scored, model=model, dataset=dataset, task=task)
    return Response(written, media_type=hub.MEDIA_TYPE)
