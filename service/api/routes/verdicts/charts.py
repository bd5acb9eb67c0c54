"""Pictures: of records, and of the answers of statistical tests."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal, cast

from anyio import to_thread
from fastapi import Path, Query, Request, Response
from pydantic import Field, JsonValue, TypeAdapter

from service.actions.verdicts import charts as actions
from service.api.examples import charts as examples
from service.api.http.answers.drawing import (
    MEDIA,
    ON_COLUMN,
    ON_PAPER,
    SCREEN,
    ChartForm,
    answer_picture,
    shows_picture,
)
from service.api.http.requests.body import SMALL_BODY, StrictBody
from service.api.http.requests.deps import Reader, RecordId, Shared, Tester
from service.api.http.serving.route import audits, make_router, refuses
from service.api.http.shared import Services
from service.api.parsing.markdown import Lang
from service.api.parsing.models import validate
from service.api.routes.verdicts.verdicts import require_verdict
from service.domain.access import Key
from service.domain.calibration.records import Calibration
from service.domain.multiverse.records import Multiverse
from service.errors import InvalidData, NotFound
from service.records import StrictRecord
from service.reports.charts.calibration import calibration
from service.reports.charts.multiverse import multiverse
from service.reports.charts.of_tests import Picture, draw_answer
from service.reports.charts.style import Spec
from service.stats.shared.declaring import registry
from service.store.plans import preregistrations
from service.words import Language

routes = make_router("charts")

Chart = Annotated[
    str, Path(max_length=40, description="`power` at any time; after the verdict also `forest`, `cumulative`, `arms`, "
    "`discordance`, `pareto`, `multiverse`.")
]  # fmt: skip
Form = Annotated[str, Path(max_length=8, description="`json` (the Vega-Lite spec), `svg`, `png` or `pdf`.")]
Hypothesis = Annotated[
    str | None, Query(max_length=64, description="Id of the hypothesis, where a picture is of one; else the first.")
]  # fmt: skip


class Answered(StrictRecord):
    """An answer as `POST /v1/tests/{test}` gave it; `analysis` alone will do."""

    test: str | None = Field(None, max_length=64, description="Must be the one in the path.")
    version: int | None = Field(None, ge=1, le=10_000, description="Null: the newest.")
    analysis: dict[str, JsonValue] = Field(
        description="As the test answered; for `calibration` the `result` of its job, for `multiverse` the answer."
    )
    warnings: list[JsonValue] | None = Field(None, description="Not drawn.")
    provenance: dict[str, JsonValue] | None = Field(None, description="Not drawn.")


@routes.get(
    "/preregistrations/{prereg_id}/charts/{chart}.{form}",
    responses=shows_picture(examples.FOREST) | refuses(304, 409),
)
@audits("chart.read")
async def get_chart(
    request: Request,
    caller: Reader,
    shared: Shared,
    prereg_id: RecordId,
    chart: Chart,
    form: Form,
    hypothesis: Hypothesis = None,
    lang: Lang = "en",
    theme: ON_PAPER = "light",
    column: ON_COLUMN = SCREEN,
) -> Response:
    """Draw a picture of a record.

    `power` shows what the plan can show and follows from nothing else. Every other picture is of outcomes: before the
    verdict it is refused as the verdict is. The JSON is a whole Vega-Lite spec with its numbers inside.
    """
    name, wanted = require_chart(chart, form)
    spec = await to_thread.run_sync(make_record_spec, shared, caller, prereg_id, name, hypothesis, lang)
    return await answer_picture(request, spec, wanted, theme, column=column)


def require_chart(chart: str, form: str) -> tuple[actions.Name, ChartForm]:
    """Return picture and form of a path.

    Raises:
        NotFound: there is no such picture, or not in that form.
    """
    if chart not in actions.NAMES or form not in MEDIA:
        raise NotFound(
            f"no such picture; there are {', '.join(actions.NAMES)}, each as "
            f"{', '.join(f'.{suffix}' for suffix in MEDIA)}"
        )
    return chart, form


def make_record_spec(
    shared: Services,
    caller: Key,
    prereg_id: str,
    name: actions.Name,
    hypothesis: str | None,
    language: Language,
) -> Spec:
    """Make the spec of a picture of a record that the caller may read.

    Raises:
        Conflict: as the verdict's, for a picture of outcomes.
    """
    with shared.database.read() as session:
        record = preregistrations.get(session, caller.project_id, prereg_id)
        if name == "power":
            return actions.of_plan(session, record, language)
        verdict = require_verdict(session, record).read()
        return actions.of_verdict(session, record, verdict, name, hypothesis, language)


@routes.post("/charts/{test}", responses=shows_picture(examples.FOREST) | refuses(304))
async def draw_chart(
    request: Request,
    _caller: Tester,
    test: Annotated[
        str, Path(max_length=64, description="Name of the test, or `calibration` or `multiverse`.")
    ],
    body: Annotated[Answered, StrictBody(Answered, example=examples.ANSWERED, max_bytes=SMALL_BODY)],
    format: Annotated[ChartForm, Query(description="What to answer.")] = "json",
    picture: Annotated[
        Picture | None, Query(description="Which picture, where the answer has several; else the first.")
    ] = None,
    unit: Annotated[
        Literal["pp", "score"] | None,
        Query(description="Of the outcomes; null: as the analysis' sentence has it."),
    ] = None,
    hypothesis: Hypothesis = None,
    lang: Lang = "en",
    theme: ON_PAPER = "light",
    column: ON_COLUMN = SCREEN,
) -> Response:
    """Draw the answer of a statistical test.

    The picture follows from what the analysis holds: a forest plot of its interval, a curve, power over n, an error
    rate, arms in order, the fourfold table. Nothing is stored, and no plan is behind it.
    """
    spec = await to_thread.run_sync(make_answer_spec, test, body, picture, unit, hypothesis, lang)
    return await answer_picture(request, spec, format, theme, column=column)


def make_answer_spec(
    test: str,
    body: Answered,
    picture: Picture | None,
    unit: Literal["pp", "score"] | None,
    hypothesis: str | None,
    language: Language,
) -> Spec:
    """Make the spec of a picture of a test's answer.

    Raises:
        NotFound: there is no such test.
        InvalidData: it is no answer of it, or has no such picture.
    """
    if test == "calibration":
        return calibration(_validate_analysis(Calibration, body), language=language)
    if test == "multiverse":
        return _draw_multiverse(_validate_analysis(Multiverse, body), hypothesis, unit, language)
    registered = registry.find(test, body.version)
    if body.test not in (None, registered.name):
        raise InvalidData.field(
            "test", "is another test than the path's", "post it to the path of its own test"
        )
    analysis = _validate_analysis(registered.analysis, body)
    sentence = str(analysis["sentence"])
    binary = " pp" in sentence or "个百分点" in sentence if unit is None else unit == "pp"
    return draw_answer(registered.name, analysis, picture, binary=binary, language=language)


def _draw_multiverse(
    universes: dict[str, Any], hypothesis: str | None, unit: Literal["pp", "score"] | None, language: Language
) -> Spec:
    known = [judged["hypothesis"] for judged in universes["hypotheses"]]
    if not known or hypothesis not in (None, *known):
        raise InvalidData.field("query.hypothesis", "is not one of the answer", "ask for one of those it has")
    return multiverse(universes, hypothesis or known[0], binary=unit != "score", language=language)


def _validate_analysis(model: Any, body: Answered) -> dict[str, Any]:
    """Validate the analysis of an answer by its own model: what does not fit is refused, field by field."""
    adapter: TypeAdapter[Any] = TypeAdapter(model)
    text = json.dumps(body.analysis, ensure_ascii=False, allow_nan=False).encode("utf-8", "surrogatepass")
    return cast(dict[str, Any], validate(adapter, text, False).model_dump(mode="json", by_alias=True))
