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
from service.reports.forms.pdf import CHECKLIST
from service.reports.verdict.pdf import set_pdf
from service.stats.shared.declaring import registry
from service.stats.shared.methods.run_series import RunStanding
from service.store.plans.populations import Packed, pack
from service.words import Language, speaking

R = TypeVar("R", bound=BaseModel)
LEAST_SECONDS, MARGIN = 1.0, 3.0
"""Seconds that a test may compute at least, and how many times its estimate."""
COUNT_SECONDS = 60.0
"""Seconds that counting the blocks of a job may take: what turns out to need none is computed by then."""


@dataclass(frozen=True, slots=True)
class ComputedAnswer:
    """The answer of a test that was computed at once, as JSON."""

    answer: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class LongTest:
    """A test that has to be a job: its request, how it is cut, and the seconds it is estimated to take."""

    body: bytes = field(repr=False)
    blocks: int
    seconds: float


def read_model(body: bytes, limit: int | None, kind: Any) -> Any:
    """Read a JSON body as `kind`, any type that pydantic knows."""
    adapter, closed = _make_adapter(kind)
    return parsing.validate(adapter, _expand_if_compressed(body, limit), closed)


def read_results(body: bytes, limit: int | None, media_type: str, most: int) -> ReceivedBatch:
    """Read a batch of results in a calculator."""
    return result_ingest.parse(
        _require_few_values(_expand_if_compressed(body, limit), media_type), media_type, max_items=most
    )


def read_manifest(body: bytes, limit: int | None, media_type: str, most: int) -> Packed:
    """Read an item manifest, and pack it for the store."""
    parsed = manifest_ingest.parse(
        _require_few_values(_expand_if_compressed(body, limit), media_type), media_type, max_items=most
    )
    return pack(parsed)


def import_file(
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
    """Read a result file of a harness at `path`, an open file of the API, under the mapping of a plan."""
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


def survey_file(
    _body: bytes, path: str, form: str, section: str | None, arm: str | None, scratch: str
) -> dict[str, Any]:
    """Survey what a result file of a harness holds, and read its table under an `import` section, if there is one."""
    mapping = None if section is None else strict_json.parse(section.encode())
    with Path(path).open("rb") as file:
        return read_files(Files.of(file, scratch=Path(scratch)), form, mapping, arm)


def compute_test(
    body: bytes,
    limit: int | None,
    name: str,
    version: int,
    most_seconds: float,
    count: bool,
    language: Language,
) -> ComputedAnswer | LongTest:
    """Compute the answer of a test that is estimated below `most_seconds`, else return what its job needs.

    Without `count` the job is not cut: how many blocks there are may take long to tell.
    """
    registered = registry.find(name, version)
    adapter, closed = _make_adapter(cast(Any, registered.request))
    request = parsing.validate(adapter, _expand_if_compressed(body, limit), closed)
    seconds = registered.cost(request)
    if seconds < most_seconds:
        begin(max(LEAST_SECONDS, MARGIN * seconds))
        return ComputedAnswer(_as_json(request, registered.answer, language))
    begin(COUNT_SECONDS)
    registered.require_affordable(request)
    return LongTest(request.dump_sent(), registered.block_count(request) if count else 0, seconds)


@lru_cache(maxsize=64)
def _make_adapter(kind: Any) -> tuple[TypeAdapter[Any], bool]:
    adapter: TypeAdapter[Any] = TypeAdapter(kind)
    return adapter, is_closed(adapter)


def _expand_if_compressed(body: bytes, limit: int | None) -> bytes:
    return body if limit is None else parsing.expand(body, limit)


def _require_few_values(body: bytes, media_type: str) -> bytes:
    if media_type == parsing.JSON:
        parsing.require_few_values(body)
    return body


ANSWER_SECONDS = 20.0
"""Seconds that an answer without a plan may take; the largest that may be asked for takes a third of them."""


def score_arm(body: bytes, limit: int | None, language: Language) -> bytes:
    """Score one arm without a plan; the answer as JSON."""
    return _compute(read_model(body, limit, ScoreRequest), score, language)


def compare_arms(body: bytes, limit: int | None, language: Language) -> bytes:
    """Compare two arms without a plan; the answer as JSON."""
    return _compute(read_model(body, limit, ComparisonRequest), compare, language)


def resolve_pilot(body: bytes, limit: int | None, language: Language) -> bytes:
    """Compute what a pilot can resolve; the answer as JSON."""
    return _compute(read_model(body, limit, ResolutionRequest), resolve, language)


def audit_pair(body: bytes, limit: int | None, language: Language) -> bytes:
    """Compute what two published accuracies can show; the answer as JSON."""
    return _compute(read_model(body, limit, AuditRequest), audit, language)


def judge_run(_body: bytes, runs: PackedRuns, n_reference: int, settings: SeriesSettings) -> RunStanding:
    """Judge the last of a series' runs against those before it, of which the first `n_reference` are the reference."""
    begin(ANSWER_SECONDS)
    return judge(runs.columns(), n_reference, settings)


def _compute(request: R, work: Callable[[R], BaseModel], language: Language) -> bytes:
    begin(ANSWER_SECONDS)
    return _as_json(request, work, language)


def _as_json(request: R, work: Callable[[R], BaseModel], language: Language) -> bytes:
    """Compute an answer and write it as JSON in a language: some words are only looked up while it is written."""
    with speaking(language):
        answer = work(request)
        return answer.__pydantic_serializer__.to_json(answer, by_alias=True)


CHART_SECONDS = 20.0
"""Seconds that a picture may take, the start of its engine included."""


def draw_picture(body: bytes, form: Form, mm: float | None = None) -> bytes:
    """Draw a Vega-Lite spec, sent as JSON, as SVG, PNG or PDF; with `mm` so many millimetres wide."""
    begin(CHART_SECONDS)
    spec = json.loads(body)
    return draw(spec, form) if mm is None else draw_in_mm(spec, form, mm)


def set_checklist_pdf(body: bytes) -> bytes:
    """Set the PDF of a checklist from its content, sent as JSON."""
    begin(CHART_SECONDS)
    return set_pdf(json.loads(body), {}, CHECKLIST)


def set_report_pdf(body: bytes) -> bytes:
    """Set the PDF of a report from its content and the specs of its pictures, sent as JSON."""
    begin(CHART_SECONDS)
    sent = json.loads(body)
    pictures = {name: draw(spec, "svg").decode() for name, spec in sent["pictures"].items()}
    return set_pdf(sent["content"], pictures)
