"""A preregistration as files: PREREG.md, DEVIATIONS.md and the evidence card, in English or Chinese."""

from __future__ import annotations

from starlette.responses import Response

from service.actions.verdicts import deviations as deviation_actions
from service.actions.verdicts import evidence as actions
from service.api.examples import markdown as examples
from service.api.http.requests.deps import Reader, ReadSession, RecordId
from service.api.http.serving.route import audits, make_router, refuses
from service.api.parsing.markdown import Lang, MarkdownResponse, shows_markdown
from service.domain.plans.preregistration import ONCE_LOCKED
from service.reports.deviations_markdown import print_deviations
from service.reports.evidence_card import print_card
from service.reports.prereg.print import print_plan
from service.reports.templates.print import print_template
from service.store.plans import preregistrations
from service.store.verdicts import deviations

routes = make_router("preregistrations")


@routes.get(
    "/preregistrations/{prereg_id}/prereg.md",
    response_class=MarkdownResponse,
    responses=shows_markdown(examples.PREREG),
)
def get_prereg_markdown(
    caller: Reader, session: ReadSession, prereg_id: RecordId, lang: Lang = "en"
) -> Response:
    """Read the plan as EXPERIMENTS_PREREG.md.

    Posted as `text/markdown`, the file becomes the same plan again, whichever its language.
    """
    record = preregistrations.get(session, caller.project_id, prereg_id)
    return MarkdownResponse(print_plan(record.plan, lang))


@routes.get(
    "/preregistrations/{prereg_id}/osf.md",
    response_class=MarkdownResponse,
    responses=shows_markdown(examples.OSF),
)
def get_osf_markdown(
    caller: Reader, session: ReadSession, prereg_id: RecordId, lang: Lang = "en"
) -> Response:
    """Read the plan under the questions of an OSF Preregistration.

    What a plan does not answer says so. Posted as `text/markdown`, the file becomes the same plan again.
    """
    record = preregistrations.get(session, caller.project_id, prereg_id)
    return MarkdownResponse(print_template(record.plan, "osf", lang))


@routes.get(
    "/preregistrations/{prereg_id}/aspredicted.md",
    response_class=MarkdownResponse,
    responses=shows_markdown(examples.ASPREDICTED),
)
def get_aspredicted_markdown(
    caller: Reader, session: ReadSession, prereg_id: RecordId, lang: Lang = "en"
) -> Response:
    """Read the plan under the questions of AsPredicted.

    What a plan does not answer says so. Posted as `text/markdown`, the file becomes the same plan again.
    """
    record = preregistrations.get(session, caller.project_id, prereg_id)
    return MarkdownResponse(print_template(record.plan, "aspredicted", lang))


@routes.get(
    "/preregistrations/{prereg_id}/deviations.md",
    response_class=MarkdownResponse,
    responses=shows_markdown(examples.DEVIATIONS) | refuses(409),
)
@audits("deviations.read")
def get_deviations_markdown(
    caller: Reader, session: ReadSession, prereg_id: RecordId, lang: Lang = "en"
) -> Response:
    """Read the deviations as DEVIATIONS.md.

    In the order they were filed; after the verdict with what they do to it. What their authors wrote stays as
    written, whichever the language.
    """
    record = preregistrations.get(session, caller.project_id, prereg_id)
    record.require(*ONCE_LOCKED, action="printing deviations")
    filed = deviations.read_all(session, record.id)
    return MarkdownResponse(
        print_deviations(
            filed,
            deviations.read_decisions(session, record.id, [deviation.number for deviation in filed]),
            plan_sha256=record.plan_sha256 or "",
            consequences=deviation_actions.effects_on_verdict(session, record) if filed else None,
            marks=actions.marks(session, record),
            language=lang,
        )
    )


@routes.get(
    "/preregistrations/{prereg_id}/evidence.md",
    response_class=MarkdownResponse,
    responses=shows_markdown(examples.EVIDENCE),
)
@audits("evidence.read")
def get_evidence_markdown(
    caller: Reader, session: ReadSession, prereg_id: RecordId, lang: Lang = "en"
) -> Response:
    """Read the evidence card as a page of Markdown."""
    record = preregistrations.get(session, caller.project_id, prereg_id)
    return MarkdownResponse(print_card(actions.card(session, record), lang))
