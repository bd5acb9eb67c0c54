"""Makes the examples in `service/api/examples/made/`: `python -m tests.api.examples_made`. A test compares them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from service.api.calculators.command_line import ask
from service.api.calculators.commands import make_command
from service.api.examples.common import PLAN
from service.api.examples.comparisons import PILOT, PUBLISHED, ROWS, SCORED
from service.api.examples.evidence import CHECKLIST
from service.api.examples.made import DIRECTORY
from service.api.examples.questions import FORM
from service.domain.comparison.compare import compare
from service.domain.comparison.request import ComparisonRequest
from service.domain.deviations.as_run import verdicts_of
from service.domain.deviations.changes import ExcludedItems
from service.domain.evidence.paper_checklist import PaperChecklist, of_paper
from service.domain.evidence.record import EvidenceCard, Known, of_record
from service.domain.ledger import Receipt
from service.domain.multiverse.multiverse import multiverse
from service.domain.notes.notes import sentences
from service.domain.plans.manifest import Manifest
from service.domain.plans.plan import Plan
from service.domain.plans.preregistration import Preregistration
from service.domain.resolution.audit import audit
from service.domain.resolution.records import AuditRequest, ResolutionRequest
from service.domain.resolution.resolve import resolve
from service.domain.rules.settings import resolve as resolve_plan
from service.domain.score.request import ScoreRequest
from service.domain.score.score import score
from service.domain.verdicts.arm_summaries import arm_summaries
from service.domain.verdicts.judge import Inputs, judge
from service.domain.verdicts.outcomes import Cell, Outcomes, Rows
from service.reports.charts.of_tests import draw_answer
from service.reports.evidence_card import print_card
from service.reports.prereg.print import print_plan
from service.reports.templates.print import print_template
from service.reports.verdict.content import report_of
from service.stats.shared.declaring import registry

N = 40
_AT = datetime(2027, 1, 4, 9, tzinfo=UTC)


def _arm(right: range) -> Cell:
    values = np.zeros((N, 1))
    values[right] = 1.0
    return Cell(values, np.zeros((N, 1), dtype=np.uint8))


def _rows() -> Rows:
    """The example plan on 40 items, of which the candidate gains 8."""
    plan = Plan.from_dict(PLAN)
    (population, *_), (hypothesis, *_) = plan.populations or (), plan.hypotheses or ()
    (endpoint, *_) = plan.endpoints or ()
    cells = {
        (population.id, hypothesis.baseline, endpoint.id): _arm(range(10)),
        (population.id, hypothesis.candidate, endpoint.id): _arm(range(18)),
    }
    small = plan.model_copy(
        update={
            "populations": (population.model_copy(update={"n": N}),),
            "hypotheses": (hypothesis,),
            "endpoints": (endpoint,),
        }
    )
    return Rows(
        resolve_plan(small),
        {population.id: Manifest(tuple(f"q{at}" for at in range(N)))},
        Outcomes(cells),
    )


def of_report() -> dict[str, Any]:
    """The report of the example plan on 40 items."""
    rows = _rows()
    verdict = judge(
        Inputs(
            preregistration_id="9d0f3c0f6d0b4a4f9c7c3f8f5f0b1c2d",
            plan_sha256=rows.plan.sha256(),
            rows=rows,
            voided=(),
            judged_at=_AT,
        )
    ).model_copy(update={"versions": {}})
    found = report_of(
        rows.plan,
        verdict,
        version=1,
        locked_at=_AT,
        sentences=sentences(rows.plan, verdict, {}),
        card=of_locked(),
        summaries={each.hypothesis.id: arm_summaries(each, rows) for each in rows.resolved.settings},
        deviations=(),
        consequences=None,
        happened=[(Receipt(sequence=41, kind="plan_locked", leaf_sha256="ab" * 32), _AT)],
    )
    return found.model_dump(mode="json")


def of_test() -> dict[str, Any]:
    """A small answer of a test, with its analysis alone."""
    test = registry.find("mcnemar")
    request = test.request.model_validate(dict(test.example))
    found = test.answer(request).model_dump(mode="json", by_alias=True)
    return {name: found[name] for name in ("test", "version", "analysis")}


def of_multiverse() -> dict[str, Any]:
    """The answer where one deviation leaves four items out."""
    rows = _rows()
    population = next(iter(rows.manifests))
    change = ExcludedItems(
        kind="exclude_items", population=population, item_ids=tuple(f"q{at}" for at in range(14, 18))
    )
    found = multiverse(rows, {1: change}, tuple(verdicts_of(rows).values()))
    return found.model_dump(mode="json")


def of_locked() -> EvidenceCard:
    """The card of a record that was just locked."""
    return of_record(
        Known(
            record=Preregistration(
                id="9d0f3c0f6d0b4a4f9c7c3f8f5f0b1c2d",
                project_id="default",
                state="locked",
                revision=2,
                version=1,
                plan=Plan.from_dict(PLAN),
                created_at=_AT,
                locked_at=_AT,
            ),
            received=0,
            expected=1000,
            lock_sequence=41,
            first_batch_sequence=None,
            first_result_at=None,
            unblindings=(),
            standing=(),
            powers={},
            verdict=None,
            sentences=(),
        )
    )


def of_question() -> dict[str, Any]:
    """The answer to a question about an uploaded file."""
    (content,) = FORM["file"]
    options = {name: [value] for name, value in FORM.items() if name != "file"}
    with TemporaryDirectory() as scratch:
        asked = make_command("score", ["results.csv"], options)
        answer = ask(content.encode(), asked, ["results.csv"], [len(content)], scratch)
    document: dict[str, Any] = json.loads(answer.text)
    return document


def files() -> dict[str, str]:
    """Every file by name, and what it has to hold."""
    card = of_locked()
    answers = {
        "multiverse": of_multiverse(),
        "report": of_report(),
        "chart_answer": (answered := of_test()),
        "chart_forest": draw_answer(
            answered["test"], answered["analysis"], "forest", binary=True, language="en"
        ),
        "evidence_card": card.model_dump(mode="json"),
        "paper_card": of_paper(PaperChecklist.model_validate(CHECKLIST)).model_dump(mode="json"),
        "question": of_question(),
        "score": score(ScoreRequest.model_validate(SCORED)).model_dump(mode="json"),
        "comparison": compare(ComparisonRequest.model_validate(ROWS)).model_dump(mode="json"),
        "resolution": resolve(ResolutionRequest.model_validate(PILOT)).model_dump(mode="json"),
        "audit": audit(AuditRequest.model_validate(PUBLISHED)).model_dump(mode="json"),
    }
    return {
        **{
            f"{name}.json": json.dumps(answer, ensure_ascii=False, indent=1) + "\n"
            for name, answer in answers.items()
        },
        "prereg.md": print_plan(Plan.from_dict(PLAN)),
        "osf.md": print_template(Plan.from_dict(PLAN), "osf"),
        "aspredicted.md": print_template(Plan.from_dict(PLAN), "aspredicted"),
        "evidence.md": print_card(card),
    }


if __name__ == "__main__":
    for name, text in files().items():
        (DIRECTORY / name).write_text(text, "utf-8")
