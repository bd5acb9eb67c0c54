"""Pictures of a record: of its plan at any time, of its outcomes once there is a verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NoReturn, get_args

from sqlalchemy.orm import Session

from service.actions.plans.manifests import read_facts
from service.actions.verdicts import multiverse as multiverses
from service.actions.verdicts.opening import open_rows
from service.domain.plans.plan import Plan
from service.domain.plans.preregistration import Preregistration
from service.domain.power.answers.records import RulePower
from service.domain.power.procedure.procedure import sign_of
from service.domain.power.rule_power import rule_powers
from service.domain.recent import Recent
from service.domain.rules.settings import Setting, resolve
from service.domain.verdicts.arm_summaries import ArmSummary, arm_summaries
from service.domain.verdicts.locked_order import curve_request, curve_test
from service.domain.verdicts.mean_difference import collapse
from service.domain.verdicts.outcomes import Rows
from service.domain.verdicts.records import HypothesisVerdict, Verdict
from service.errors import Conflict, InvalidData
from service.reports.charts.arms import arms
from service.reports.charts.cumulative import cumulative
from service.reports.charts.discordance import discordance
from service.reports.charts.multiverse import multiverse
from service.reports.charts.of_verdict import counts_of, forest_of, sesoi_of, unit_of
from service.reports.charts.pareto import pareto
from service.reports.charts.power import power_of_rules
from service.reports.charts.style import Row, Spec
from service.store.plans import plan_keys
from service.words import Language

OfVerdict = Literal["forest", "cumulative", "arms", "discordance", "pareto", "multiverse"]
Name = Literal["power", OfVerdict]
NAMES: tuple[Name, ...] = ("power", *get_args(OfVerdict))

MOST_SECONDS = 3.0
"""What the curve of a picture may take to compute, by its test's own estimate."""

_ARMS: Recent[tuple[str, str], tuple[ArmSummary, ...]] = Recent(256)
_CURVES: Recent[tuple[str, str], Mapping[str, Any]] = Recent(64)
"""By record and hypothesis: rows and verdict stay as they are."""


def of_plan(session: Session, record: Preregistration, language: Language) -> Spec:
    """Return the power of every rule, from the plan and its items alone: nothing in it follows from results."""
    return of_powers(record.plan, rule_powers(record.plan, read_facts(session, record)), language)


def of_powers(plan: Plan, powers: Sequence[RulePower], language: Language) -> Spec:
    """Return the power of a plan's rules as it was worked out."""
    drawn = [(power.model_dump(mode="json"), _is_binary(plan, power.hypothesis)) for power in powers]
    margins = {setting.hypothesis.id: _margins(plan, setting) for setting in resolve(plan).settings}
    return power_of_rules(drawn, margins=margins, subtitle=plan.title or "", language=language)


def _margins(plan: Plan, setting: Setting) -> tuple[float, ...]:
    """Return the differences, candidate minus baseline, that a claim sets apart; of non-inferiority the loss allowed.

    Of one arm the reference itself.
    """
    if setting.reference is not None:
        return (float(setting.reference),)
    margin = sesoi_of(plan, setting.hypothesis.endpoint)
    if margin is None:
        return ()
    if setting.hypothesis.claim == "equivalence":
        return (-margin, margin)
    sign = sign_of(setting)
    return (-sign * margin if setting.hypothesis.claim == "non_inferiority" else sign * margin,)


def of_verdict(
    session: Session,
    record: Preregistration,
    verdict: Verdict,
    name: OfVerdict,
    hypothesis: str | None,
    language: Language,
) -> Spec:
    """Return a picture of a judged record; all but the first two of the verdict alone need its rows.

    Raises:
        InvalidData: no such hypothesis.
        Conflict: `erased`, too many rows, or `no_picture`: what it is made of is not in the verdict.
    """
    if name == "forest":
        forest = forest_of(record.plan, verdict, language)
        if forest is None:
            _refuse("no analysis of the verdict has an interval of a difference")
        return forest
    judged = chosen(verdict, hypothesis)
    binary = unit_of(record.plan, judged.endpoint).binary
    subtitle = (
        f"{judged.id}: {_describe_comparison(judged, binary=binary)}, {judged.endpoint}, {judged.population}"
    )
    if name == "discordance":
        counts = counts_of(record.plan, judged)
        if counts is None or judged.baseline is None:
            _refuse(f"no analysis of {judged.id} counts right and wrong items")
        return discordance(
            counts, baseline=judged.baseline, candidate=judged.candidate, subtitle=subtitle, language=language
        )
    if name == "multiverse":
        universes = multiverses.of_verdict(session, record, verdict).model_dump(mode="json")
        margin = sesoi_of(record.plan, judged.endpoint)
        return multiverse(
            universes, judged.id, binary=binary, sesoi=margin, subtitle=subtitle, language=language
        )
    if name == "cumulative":
        curve = curve_of(session, record, judged.id)
        what = "difference" if judged.reference is None else "mean_over_reference"
        return cumulative(curve, binary=binary, subtitle=subtitle, language=language, what=what)
    if name == "arms":
        rows = [summary.model_dump() for summary in summaries(session, record, judged.id)]
        described = f"{subtitle}, 95% {METHODS[rows[0]['method']]}" if rows else subtitle
        if not rows:
            _refuse(NO_ITEMS)
        return arms(rows, binary=binary, subtitle=described, language=language)
    return _pareto(open_rows(session, record), judged, language)


def _describe_comparison(judged: HypothesisVerdict, *, binary: bool) -> str:
    """Return what is subtracted from what."""
    if judged.reference is None:
        return f"{judged.candidate} − {judged.baseline}"
    value = judged.reference.value
    return f"{judged.candidate} − {100 * value:.6g}%" if binary else f"{judged.candidate} − {value:.6g}"


NO_ITEMS = "the verdict is judged on no item"
METHODS = {
    "clopper_pearson": "Clopper-Pearson",
    "t": "t",
    "cr2_t": "CR2",
    "furthest": "CR2, unseen losses",
    None: "–",
}


def chosen(verdict: Verdict, hypothesis: str | None) -> HypothesisVerdict:
    """Return the hypothesis that is asked for; the first where none is."""
    candidates = [judged for judged in verdict.hypotheses if hypothesis in (None, judged.id)]
    if not candidates:
        known = ", ".join(hypothesis.id for hypothesis in verdict.hypotheses[:20])
        raise InvalidData.field("query.hypothesis", "is not one of the verdict", f"ask for one of {known}")
    return candidates[0]


def curve_of(session: Session, record: Preregistration, hypothesis: str) -> Mapping[str, Any]:
    """Return the effect in the locked order, with both bands: an analysis as its test answers it.

    Raises:
        Conflict: there are no rows, or they would take too long.
    """
    known = record.id, hypothesis
    plan_keys.read_released(session, record.id)  # whoever asks must find the rows readable, every time
    curve = _CURVES.get(known)
    if curve is not None:
        return curve
    rows = open_rows(session, record)
    setting = rows.resolved.of(hypothesis)
    if setting is not None and setting.suite is not None:
        _refuse(
            "a curve along the items is of all items alike, which is another quantity than a suite's mean"
        )
    request = None if setting is None else curve_request(setting, rows)
    if request is None:
        _refuse(NO_ITEMS)
    test = curve_test()
    if (seconds := test.cost(request)) > MOST_SECONDS:
        _refuse(
            f"the curve would take about {seconds:.0f} seconds, and a picture may take {MOST_SECONDS:.0f}"
        )
    analysis: Mapping[str, Any] = test.answer(request).model_dump(mode="json", by_alias=True)["analysis"]
    _CURVES.add(known, analysis, 1)
    return analysis


def summaries(session: Session, record: Preregistration, hypothesis: str) -> tuple[ArmSummary, ...]:
    """Return both arms of a hypothesis in numbers, on the items of the verdict."""
    known = record.id, hypothesis
    plan_keys.read_released(session, record.id)
    arms = _ARMS.get(known)
    if arms is None:
        rows = open_rows(session, record)
        setting = rows.resolved.of(hypothesis)
        arms = () if setting is None else arm_summaries(setting, rows)
        _ARMS.add(known, arms, 1)
    return arms


def _pareto(rows: Rows, judged: HypothesisVerdict, language: Language) -> Spec:
    """The hypothesis' endpoint against another one: what its rule speaks of, else what its arms were measured by."""
    plan, population = rows.plan, judged.population
    endpoints = [other.endpoint for other in judged.others or ()]
    others = (
        [endpoint for endpoint in plan.endpoints_of(population) if endpoint.id in endpoints]
        or [
            endpoint
            for endpoint in plan.endpoints_of(population)
            if endpoint.id != judged.endpoint and endpoint.better == "lower"
        ]
        or [endpoint for endpoint in plan.endpoints_of(population) if endpoint.id != judged.endpoint]
    )
    quality = plan.endpoint(judged.endpoint)
    if not others or quality is None:
        _refuse(f"the arms on '{population}' are measured by one endpoint alone")
    cost = others[0]
    points: list[Row] = []
    for arm in dict.fromkeys(key[1] for key in rows.outcomes.cells if key[0] == population):
        means = {
            name: _mean(rows, population, arm, endpoint)
            for name, endpoint in (("quality", quality.id), ("cost", cost.id))
        }
        if None not in means.values():
            nothing = dict.fromkeys(("quality_low", "quality_high", "cost_low", "cost_high"))
            points.append({"arm": arm, **means, **nothing})
    if not points:
        _refuse(NO_ITEMS)
    return pareto(
        points,
        quality=quality.id,
        cost=cost.id,
        binary=quality.kind == "binary",
        quality_lower=quality.better == "lower",
        cost_higher=cost.better == "higher",
        subtitle=population,
        language=language,
    )


def _mean(rows: Rows, population: str, arm: str, endpoint: str) -> float | None:
    """Of the items whose results are all ok."""
    cell, planned = rows.outcomes.cells.get((population, arm, endpoint)), rows.plan.endpoint(endpoint)
    if cell is None or planned is None:
        return None
    cell = cell.of(rows.outcomes.counting(population, len(cell.values)))
    usable = (cell.statuses == 0).all(axis=1)
    return float(collapse(cell.values[usable], planned).mean()) if usable.any() else None


def _is_binary(plan: Plan, hypothesis: str) -> bool:
    planned = plan.hypothesis(hypothesis)
    return planned is not None and unit_of(plan, planned.endpoint).binary


def _refuse(why: str) -> NoReturn:
    raise Conflict(why, code="no_picture")
