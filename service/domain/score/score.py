"""One arm without a plan: its mean, how sure it is, and whether it is enough."""

from __future__ import annotations

from typing import Any

from service.domain.comparison.sentences import status
from service.domain.comparison.suites import NO_TASKS, lacking_warning, require_known
from service.domain.score.headlines import headline, what_is_open
from service.domain.score.items import Items, group
from service.domain.score.missing import Missing, kept_of, missing_of
from service.domain.score.records import Outcome, Score
from service.domain.score.request import ScoreRequest
from service.domain.score.sentences import next_step, rule, sentence
from service.domain.score.suites import SuiteAnswer, weigh_tasks
from service.errors import InvalidData
from service.stats.shared.declaring import registry


def score(request: ScoreRequest) -> Score:
    """Score: meets, falls short, cannot tell, or an estimate, as read from the interval that is printed.

    Raises:
        InvalidData: rows that contradict each other, a single cluster, outcomes outside the range, or a threshold at
            or beyond an end of it.
    """
    items = group(request)
    counted = kept_of(items, request)
    if not counted.item_ids:
        raise InvalidData.field("values", "hold no result at all", "send at least one item with a result")
    lacking: tuple[str, ...] = ()
    if items.tasks is not None:
        require_known(request.suite, set(items.tasks))
        lacking = tuple(sorted(set(items.tasks) - set(counted.tasks or ())))

    def weigh_part(part: Items) -> registry.Answer[Any] | SuiteAnswer:
        return weigh(part, request) if part.tasks is None else weigh_tasks(part, request, lacking)

    missing = missing_of(items, request, lambda filled: weigh_part(filled).analysis)
    answer = weigh_part(counted)
    analysis: Any = answer.analysis
    observed_outcome: Outcome = "estimate" if analysis.against is None else analysis.against.outcome
    outcome = observed_outcome if missing is None else missing.standing(observed_outcome)
    unsettled_by = missing if outcome != observed_outcome else None
    reasons = {**analysis.reasons, **_reasons(items, request, missing, unsettled_by)}
    points = _in_points(request)
    slices = None
    if items.slices is not None:
        from service.domain.score.slices import slices_of  # most scores answer sooner without

        slices, withheld = slices_of(items, counted, request, lambda part: weigh(part, request).analysis)
        reasons |= withheld
    draft = Score(
        outcome=outcome,
        headline="",
        open="",
        sentence="",
        rule="",
        next="",
        status=status(),
        mean=analysis.mean,
        ci=analysis.ci,
        se=analysis.se,
        df=analysis.df,
        intervals=analysis.intervals,
        these_items=analysis.these_items,
        clusters=analysis.clusters,
        against=analysis.against,
        points=points,
        prefers=request.prefers,
        n=analysis.n,
        n_values=analysis.n_values,
        missing=None if missing is None else missing.record,
        slices=slices,
        suite=getattr(analysis, "suite", None),
        test=answer.test,
        version=answer.version,
        reasons=reasons,
        warnings=(
            *lacking_warning(lacking, arms=1),
            *answer.warnings,
            *(() if missing is None else missing.warnings(observed_outcome, points=points)),
        ),
    )
    return _put_into_words(draft, request.name or "the system")


def _reasons(
    items: Items, request: ScoreRequest, missing: Missing | None, unsettled_by: Missing | None
) -> dict[str, str]:
    """Say why fields are null that were not asked for or say nothing, and why the outcome is not as observed.

    `unsettled_by`: the missing results that the outcome does not stand.
    """
    reasons: dict[str, str] = {}
    if items.tasks is None:
        reasons["suite"] = NO_TASKS
    if request.slices is None:
        reasons["slices"] = "no slices were named"
    if missing is None:
        reasons["missing"] = "every item has a result"
    if unsettled_by is not None:
        reasons["outcome"] = unsettled_by.reason
    return reasons


def _in_points(request: ScoreRequest) -> bool:
    """Tell whether a mean is a share of right items, which is told in per cent."""
    unit = request.range is None or (request.range.low, request.range.high) == (0, 1)
    rescaled = request.suite is not None and bool(request.suite.rescale)
    return unit and not rescaled and all(value in (None, 0, 1) for value in request.values)


def _put_into_words(draft: Score, name: str) -> Score:
    """Return the score with its sentences, which are read off its numbers."""
    words = {
        "headline": headline(draft, name),
        "open": what_is_open(draft),
        "sentence": sentence(draft, name),
        "rule": rule(draft),
        "next": next_step(draft),
    }
    return draft.model_copy(update=words)


def weigh(items: Items, request: ScoreRequest) -> registry.Answer[Any]:
    """Return the registered test on these items."""
    test = registry.serving("scored")
    once = all(len(runs) == 1 for runs in items.runs)
    body: dict[str, Any] = {
        "values": [runs[0] for runs in items.runs] if once else [list(runs) for runs in items.runs],
        "better": request.prefers,
        "level": 1 - request.alpha,
        "power": request.power,
        "threshold": request.threshold,
        "range": None if request.range is None else request.range.model_dump(),
    }
    if items.clusters is not None:
        body["clusters"] = list(items.clusters)
    return test.answer(test.request.model_validate(body), most_seconds=registry.MOST_SECONDS_BESIDE)
