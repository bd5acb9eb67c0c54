"""The multiverse of a verdict: what each hypothesis would have shown under the other choices on record.

A choice is a deviation that can be applied to the stored rows (as planned, or as deviated), or a
declared sweep of a threshold (the value the arms were run with, or another with results of its own).
A universe makes every choice one way. The rows are the same in all of them, so the share of
universes in which a hypothesis passes is no probability: it tells how much hangs on the choices.

Pure, and for judged records alone. Work is bounded by the costs that the tests state, so the same
record always gives the same answer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import islice

from service.domain.deviations.as_run import seconds, verdicts_of, why_not
from service.domain.deviations.changes import Change
from service.domain.deviations.consequences import NotComputed
from service.domain.deviations.threshold_sweep import NO_ROWS
from service.domain.multiverse import words as multiverse_words
from service.domain.multiverse.choices import (
    DEVIATED,
    Choice,
    Picked,
    choices_of_sweeps,
    fork_of_deviation,
    has_results,
    nearest_first,
    rows_in,
)
from service.domain.multiverse.records import (
    Fork,
    HypothesisUniverses,
    InUniverse,
    Multiverse,
    Position,
    Universe,
)
from service.domain.plans.plan import Plan
from service.domain.plans.sections.hypothesis import Hypothesis
from service.domain.verdicts.outcomes import Rows
from service.domain.verdicts.records import HypothesisVerdict, Outcome
from service.words import say

CAP = 256
"""Universes at most; those nearest to the plan come first."""
BUDGET = 5.0
"""Seconds, by the tests' own estimates."""
LARGEST_COUNT = 2**53
"""Beyond it JSON numbers are not whole."""


def multiverse(
    rows: Rows,
    changes: Mapping[int, Change],
    planned: Sequence[HypothesisVerdict],
    *,
    cap: int = CAP,
    budget: float = BUDGET,
) -> Multiverse:
    """Return every hypothesis under the choices that these deviations, by number, and the declared sweeps open."""
    refusals = {number: why_not(rows.plan, change) for number, change in changes.items()}
    choices = [
        Choice(fork_of_deviation(number), change)
        for number, change in changes.items()
        if refusals[number] is None
    ]
    swept, lacking = choices_of_sweeps(rows.plan, changes)
    choices += swept
    total = math.prod(len(choice.fork.options) for choice in choices)
    universes, reasons, spent = [_summarize_plan(choices, planned)], [], 0.0
    for picked in islice(nearest_first(choices), 1, cap):
        here = rows_in(rows, choices, picked)
        spent += seconds(here)
        if spent > budget:
            left = min(total, cap) - len(universes)
            reasons.append(say("multiverse.takes_longer", n=left, budget=f"{budget:g}"))
            break
        universes.append(_judge_universe(here, rows.plan, choices, picked, len(universes) + 1))
    if total > cap:
        reasons.append(say("multiverse.capped", cap=cap))
    return _summarize_all(
        tuple(choice.fork for choice in choices),
        total,
        cap,
        universes,
        planned,
        not_computed=tuple(
            NotComputed(deviation=number, reason=reason)
            for number, reason in refusals.items()
            if reason is not None
        ),
        lacking=lacking,
        reasons=tuple(reasons),
    )


def as_planned_alone(planned: Sequence[HypothesisVerdict], reason: str) -> Multiverse:
    """Return the verdict alone, where its rows cannot be computed with."""
    return _summarize_all((), 1, CAP, [_summarize_plan((), planned)], planned, reasons=(reason,))


def _judge_universe(
    here: Rows, plan: Plan, choices: Sequence[Choice], picked: Picked, number: int
) -> Universe:
    """One universe: its choices, and what every hypothesis of the plan comes to with them."""
    lacking = {
        hypothesis.id: hypothesis
        for hypothesis in here.plan.hypotheses or ()
        if not has_results(here.plan, hypothesis.population, hypothesis.endpoint)
    }
    judged = verdicts_of(here)
    return Universe(
        number=number,
        position=_locate(choices, picked),
        choices=_name_options(choices, picked),
        departures=sum(option > 0 for option in picked),
        hypotheses={
            hypothesis.id: _report_lacking(lacking[hypothesis.id])
            if hypothesis.id in lacking
            else _summarize(judged[hypothesis.id])
            for hypothesis in plan.hypotheses or ()
        },
    )


def _report_lacking(hypothesis: Hypothesis) -> InUniverse:
    return InUniverse(
        outcome=None, passes=None, delta=None, n=None, reason=NO_ROWS.format(hypothesis.endpoint)
    )


def _summarize(verdict: HypothesisVerdict) -> InUniverse:
    return InUniverse(
        outcome=verdict.outcome,
        passes=_passes(verdict),
        delta=verdict.delta,
        n=verdict.n,
        reason=verdict.reason,
    )


def _passes(verdict: HypothesisVerdict) -> bool | None:
    """Tell whether the rule holds; nothing passes where a mark leaves no outcome to rest on it."""
    return None if verdict.outcome == "invalid" else verdict.rule_holds


def _summarize_plan(choices: Sequence[Choice], planned: Sequence[HypothesisVerdict]) -> Universe:
    """Return the verdict, which is not computed again."""
    return Universe(
        number=1,
        position="as_planned",
        choices=_name_options(choices, tuple(0 for _ in choices)),
        departures=0,
        hypotheses={verdict.id: _summarize(verdict) for verdict in planned},
    )


def _name_options(choices: Sequence[Choice], picked: Picked) -> dict[str, str]:
    return {c.fork.id: c.fork.options[option] for c, option in zip(choices, picked, strict=True)}


def _locate(choices: Sequence[Choice], picked: Picked) -> Position:
    """Return where a universe lies: the plan, the plan as run, one step from either, or further off."""
    run = tuple(1 if choice.fork.kind == "deviation" else 0 for choice in choices)
    departures = sum(option > 0 for option in picked)
    if departures == 0:
        return "as_planned"
    if picked == run:
        return "as_run"
    if departures == 1:
        return "one_choice"
    apart = [at for at in range(len(run)) if picked[at] != run[at]]
    return "one_reversed" if len(apart) == 1 and run[apart[0]] == 1 else "combination"


def _summarize_all(
    forks: tuple[Fork, ...],
    total: int,
    cap: int,
    universes: Sequence[Universe],
    planned: Sequence[HypothesisVerdict],
    *,
    not_computed: tuple[NotComputed, ...] = (),
    lacking: tuple[str, ...] = (),
    reasons: tuple[str, ...],
) -> Multiverse:
    """Return the multiverse of a plan, with a summary by hypothesis."""
    return Multiverse(
        choices=forks,
        total=total if total <= LARGEST_COUNT else None,
        cap=cap,
        computed=len(universes),
        hypotheses=tuple(_summarize_hypothesis(verdict, forks, universes, total) for verdict in planned),
        universes=tuple(universes),
        not_computed=not_computed,
        values_without_results=lacking,
        reasons=reasons,
        note=say("multiverse.note"),
    )


def _summarize_hypothesis(
    planned: HypothesisVerdict, forks: Sequence[Fork], universes: Sequence[Universe], total: int
) -> HypothesisUniverses:
    """One hypothesis over all universes: how many it passes in, and which single choices decide that."""
    here = [(universe, universe.hypotheses[planned.id]) for universe in universes]
    judged = [(universe, seen) for universe, seen in here if seen.outcome is not None]
    passes = sum(seen.passes is True for _, seen in judged)
    options = {fork.id: fork.options for fork in forks}
    decided_by = tuple(
        dict.fromkeys(
            name.replace("-", " ") if chosen == DEVIATED else chosen
            for universe, seen in judged
            if universe.departures == 1 and (seen.passes is True) != (_passes(planned) is True)
            for name, chosen in universe.choices.items()
            if chosen != options[name][0]
        )
    )
    outcomes: dict[Outcome, int] = {}
    for _, seen in judged:
        if seen.outcome is not None:
            outcomes[seen.outcome] = outcomes.get(seen.outcome, 0) + 1
    return HypothesisUniverses(
        hypothesis=planned.id,
        role=planned.role,
        outcome_planned=planned.outcome,
        passes_planned=_passes(planned),
        universes=len(judged),
        passes=passes,
        share=passes / len(judged) if judged else None,
        outcomes=outcomes,
        decided_by=decided_by,
        sentence=multiverse_words.sentence(
            planned.id,
            passes=passes,
            universes=len(judged),
            total=total,
            planned=_passes(planned) is True,
            decided_by=decided_by,
        ),
    )
