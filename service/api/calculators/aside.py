"""What calculators do: read a large body, and compute a test that is not small for certain.

Every function takes the body as sent; those that read it, how large it may be after gzip, None when it is plain.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic import BaseModel, TypeAdapter

from service.api.calculators.messages import begin
from service.api.parsing import models as parsing
from service.api.parsing import strict_json
from service.api.parsing.closed_types import is_closed
from service.domain.comparison.compare import compare
from service.domain.comparison.request import ComparisonRequest
from service.domain.plans.plan import Plan
from service.domain.resolution.audit import audit
from service.domain.resolution.records import AuditRequest, ResolutionRequest
from service.domain.resolution.resolve import resolve
from service.domain.results.batches import ReceivedBatch
from service.domain.score.request import ScoreRequest
from service.domain.score.score import score
from service.domain.series import PackedRuns, SeriesSettings, judge
from service.ingest import manifests as manifest_ingest
from service.ingest import results as result_ingest
from service.ingest.documents.files import Files
from service.ingest.imports import ImportedFile, read_import
from service.ingest.surveys import read_files
from service.reports.charts.draw import Form, draw
from service.reports.charts.on_page import draw_in_mm
from service.reports.forms.pdf import set_checklist
from service.reports.verdict.pdf import set_pdf
from service.stats.shared.declaring import registry
from service.stats.shared.methods.run_series import RunStanding
from service.store.plans.populations import Packed, packed
from service.words import Language, speaking

R = TypeVar("R", bound=BaseModel)
LEAST_SECONDS, MARGIN = 1.0, 3.0
"""A test may compute for so long, or so many times what it was estimated to take."""
COUNT_SECONDS = 60.0
"""Counting the blocks of a job may take so long: what turns out to need none is computed by then."""


@dataclass(frozen=True, slots=True)
class Computed:
    """A test's answer as JSON."""

    answer: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Long:
    """A test that has to be a job: its request, how it is cut, and the seconds it is estimated to take."""

    body: bytes = field(repr=False)
    blocks: int
    seconds: float


def model(body: bytes, limit: int | None, kind: Any) -> Any:
    """A JSON body as `kind`, any type pydantic knows."""
    adapter, closed = _adapter(kind)
    return parsing.validate(adapter, _plain(body, limit), closed)


def results(body: bytes, limit: int | None, media_type: str, most: int) -> ReceivedBatch:
    """Read a batch of results in a calculator."""
    return result_ingest.parse(_json_checked(_plain(body, limit), media_type), media_type, max_items=most)


def manifest(body: bytes, limit: int | None, media_type: str, most: int) -> Packed:
    """An item manifest, ready to be stored."""
    parsed = manifest_ingest.parse(_json_checked(_plain(body, limit), media_type), media_type, max_items=most)
    return packed(parsed)


def imported(
    _body: bytes,
    path: str,
    plan: str,
    form: str | None,
    population: str,
    arm: str | None,
    most: int,
    pinned: bool,
    scratch: str,
) -> ImportedFile:
    """A file of a harness, from where the API keeps it, under a plan's mapping."""
    with Path(path).open("rb") as file:
        return read_import(
            file,
            Plan.from_json(plan),
            form=form,
            population=population,
            arm=arm,
            max_rows=most,
            scratch=Path(scratch),
            pinned=pinned,
        )


def surveyed(
    _body: bytes, path: str, form: str, section: str | None, arm: str | None, scratch: str
) -> dict[str, Any]:
    """What a file of a harness holds, and its table under an `import` section."""
    given = None if section is None else strict_json.parse(section.encode())
    with Path(path).open("rb") as file:
        return read_files(Files.of(file, scratch=Path(scratch)), form, given, arm)


def test(
    body: bytes,
    limit: int | None,
    name: str,
    version: int,
    most_seconds: float,
    count: bool,
    language: Language,
) -> Computed | Long:
    """The answer of a test that is estimated below `most_seconds`, else what its job needs.

    Without `count` the job is not cut: how many blocks there are may take long to tell.
    """
    registered = registry.find(name, version)
    adapter, closed = _adapter(cast(Any, registered.request))
    request = parsing.validate(adapter, _plain(body, limit), closed)
    seconds = registered.cost(request)
    if seconds < most_seconds:
        begin(max(LEAST_SECONDS, MARGIN * seconds))
        return Computed(_as_json(request, registered.answer, language))
    begin(COUNT_SECONDS)
    registered.require_affordable(request)
    return Long(request.dump_sent(), registered.block_count(request) if count else 0, seconds)


@lru_cache(maxsize=64)
def _adapter(kind: Any) -> tuple[TypeAdapter[Any], bool]:
    adapter: TypeAdapter[Any] = TypeAdapter(kind)
    return adapter, is_closed(adapter)


def _plain(body: bytes, limit: int | None) -> bytes:
    return body if limit is None else parsing.expand(body, limit)


def _json_checked(body: bytes, media_type: str) -> bytes:
    if media_type == parsing.JSON:
        parsing.require_few_values(body)
    return body


ANSWER_SECONDS = 20.0
"""An answer of no plan may take so long; the largest that a request may ask for takes a third of it."""


def scored(body: bytes, limit: int | None, language: Language) -> bytes:
    """One arm without a plan, as JSON."""
    return _compute(model(body, limit, ScoreRequest), score, language)


def compared(body: bytes, limit: int | None, language: Language) -> bytes:
    """Two arms without a plan, as JSON."""
    return _compute(model(body, limit, ComparisonRequest), compare, language)


def resolved(body: bytes, limit: int | None, language: Language) -> bytes:
    """What a pilot can resolve, as JSON."""
    return _compute(model(body, limit, ResolutionRequest), resolve, language)


def audited(body: bytes, limit: int | None, language: Language) -> bytes:
    """What two published accuracies can show, as JSON."""
    return _compute(model(body, limit, AuditRequest), audit, language)


def stood(_body: bytes, runs: PackedRuns, n_reference: int, settings: SeriesSettings) -> RunStanding:
    """The last of a series' runs against those before it."""
    begin(ANSWER_SECONDS)
    return judge(runs.columns(), n_reference, settings)


def _compute(request: R, work: Callable[[R], BaseModel], language: Language) -> bytes:
    begin(ANSWER_SECONDS)
    return _as_json(request, work, language)


def _as_json(request: R, work: Callable[[R], BaseModel], language: Language) -> bytes:
    """What `work` answers, said in a language; some words are only looked up where they are written out."""
    with speaking(language):
        answer = work(request)
        return answer.__pydantic_serializer__.to_json(answer, by_alias=True)


CHART_SECONDS = 20.0
"""A picture may take so long, the start of its engine included."""


def picture(body: bytes, form: Form, mm: float | None = None) -> bytes:
    """A Vega-Lite spec as SVG, PNG or PDF; with `mm` that wide."""
    begin(CHART_SECONDS)
    spec = json.loads(body)
    return draw(spec, form) if mm is None else draw_in_mm(spec, form, mm)


def checklist_pdf(body: bytes) -> bytes:
    """The PDF of a checklist, from its content."""
    begin(CHART_SECONDS)
    return set_checklist(json.loads(body))


def pdf(body: bytes) -> bytes:
    """The PDF of a report: its content, and the specs of its pictures."""
    begin(CHART_SECONDS)
    sent = json.loads(body)
    pictures = {name: draw(spec, "svg").decode() for name, spec in sent["pictures"].items()}
    return set_pdf(sent["content"], pictures)
