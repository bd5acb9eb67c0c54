"""The table of a two-arm rule's power: what a lock needs first, then as much of the rest as the budget allows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from service.domain.power.answers.lead import find_least_observed
from service.domain.power.answers.records import LabelledPower, LeadPower, PowerAt
from service.domain.power.distributions.shapes import every_shape
from service.domain.power.procedure.labelled_sets import label_budgets
from service.domain.power.search import CUT, OverBudgetError
from service.domain.power.two_arms.effects import compute_detectable, compute_required
from service.domain.power.two_arms.hypothesis import HypothesisPower
from service.domain.power.worlds import LEAST_GAP


def compute_table(power: HypothesisPower, *, whole: bool) -> dict[str, object]:
    """Return the fields of a `RulePower` that follow from its power at various truths, by name.

    Without `whole` it is what a lock needs: power where the claim should come out, at the true difference that is
    stated first, and its curve. With it come all entries, by number of labels, the detectable differences and the
    items needed. An entry that the budget has no room for has null power, with `CUT` as its reason.
    """
    own = power.own
    effect, truth = own.lead
    at_goal = _compute_ends(power, own.goal, power.lint_sets)
    lead = at_goal if own.goal == truth else _compute_ends(power, truth, power.curve_sets)
    reference = at_goal["reference"]
    changes: dict[str, object] = {"stated": power.stated, "reason": reference.reason, **at_goal}
    if reference.power is not None:
        changes["method"] = "exact" if reference.standard_error is None else "simulated"
    curve = _compute_curve(power) if lead["reference"].power is not None else ()
    changes["lead"] = LeadPower(
        effect=effect,
        reference=lead["reference"],
        low=lead.get("low"),
        high=lead.get("high"),
        curve=tuple(row for row in curve if row.power is not None),
        asks_observed=find_least_observed(power.setting, truth),
    )
    if power.budget.cut:
        changes["cut"] = CUT
    if power.exact_only:
        unknown = "; ".join(dict.fromkeys(power.exact.rule.unknown.values()))
        changes["reason"] = unknown or reference.reason
    if not whole or (reference.power is None and not power.exact_only):
        return changes
    changes["assumptions"] = power.words()
    # The table comes before the searches, which may take all that is left of the budget.
    changes["power"] = tuple(_compute_entries(power))
    if reference.power is not None and own.labels is not None:
        changes["labels"] = tuple(_compute_by_labels(power))
    if reference.power is not None:
        changes |= {
            "detectable": tuple(compute_detectable(power)),
            "required": tuple(compute_required(power)),
        }
    if power.budget.cut:
        changes["cut"] = CUT
    return changes


def _compute_ends(power: HypothesisPower, truth: float, n_sets: int) -> dict[str, PowerAt]:
    """Power at one true difference by name: `reference`, and `low` and `high` over what the plan leaves open.

    Without a reference, or without both ends, those that are known alone.
    """
    own, cut = power.own, _cut_at(truth)
    rows = {"reference": _or_cut(partial(power.at, "reference", truth=truth, n_sets=n_sets), cut)}
    if rows["reference"].power is None:
        return rows
    shaped = _compute_shapes(power, truth, cut)
    if power.stated:
        known = sorted([rows["reference"], *shaped], key=lambda row: row.power or 0.0)
        return rows | ({"low": known[0], "high": known[-1]} if shaped else {})
    ends = (
        _or_cut(partial(power.at, "low", truth=truth, n_sets=n_sets), cut),
        _or_cut(partial(power.at, "high", "at_goal", truth=truth, n_sets=n_sets), cut),
    )
    if any(end.power is None for end in ends):
        return rows
    # With few items power does not fall with the spread: what lies between the ends counts as well.
    inner = [
        power.at("reference", truth=truth, scale=scale)
        for scale in (own.scales if power.exact_only else ())
        if abs(truth) <= scale + LEAST_GAP
    ]
    known = [end for end in (*ends, rows["reference"], *inner, *shaped) if end.power is not None]
    known.sort(key=lambda row: row.power or 0.0)
    return rows | {"low": known[0], "high": known[-1]}


def _compute_shapes(power: HypothesisPower, truth: float, cut: PowerAt) -> list[PowerAt]:
    """Power of scores at the least favourable spread, for every shape of differences that is not normal."""
    if power.own.binary:
        return []
    rows = [
        _or_cut(partial(power.at, "low", truth=truth, n_sets=power.curve_sets, shape=shape.name), cut)
        for shape in every_shape()[1:]  # the first is the normal one
    ]
    return [row for row in rows if row.power is not None]


def _compute_curve(power: HypothesisPower) -> Iterator[PowerAt]:
    """Power at other true differences than the one that is stated first."""
    cut = _cut_at(power.own.goal)
    for truth in power.curve():
        yield _or_cut(partial(power.at, "reference", truth=truth, n_sets=power.curve_sets), cut)


def _compute_entries(power: HypothesisPower) -> Iterator[PowerAt]:
    """Without a difference, at the SESOI, at twice the SESOI and where the claim should come out, by scale."""
    own = power.own
    for scale in own.scales:
        for truth in own.listed:
            place = {"discordance" if own.binary else "spread": scale}
            cut = _cut_at(truth).model_copy(update=place)
            entry = partial(power.at, "reference", truth=truth, scale=scale, n_sets=power.table_sets)
            yield _or_cut(entry, cut)


def _compute_by_labels(power: HypothesisPower) -> Iterator[LabelledPower]:
    """Power from a quarter of the planned labels up to all that leave the judge a few, at the first true difference."""
    cut = _cut_at(power.own.goal)
    for n_labels in label_budgets(power.own.labels or 2, power.n - 2):
        other = power.with_labels(n_labels)
        entry = partial(other.at, "reference", truth=power.own.lead[1], n_sets=power.table_sets)
        row = _or_cut(entry, cut)
        yield LabelledPower(labels=n_labels, power=row.power, standard_error=row.standard_error)


def _or_cut(entry: Callable[[], PowerAt], cut: PowerAt) -> PowerAt:
    """Return the entry, or `cut` where the budget has no room for it."""
    try:
        return entry()
    except OverBudgetError:
        return cut


def _cut_at(truth: float) -> PowerAt:
    """Return what stands for an entry at this true difference that there was no time for."""
    return PowerAt(discordance=None, truth=truth, power=None, reason=CUT)
