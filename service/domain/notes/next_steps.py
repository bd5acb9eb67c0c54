"""What can be done after an outcome, with how many items: from the observed spread, and never a promise.

A size is for the smallest effect of interest that was locked, and not for the difference that came out: what was seen
is an estimate, and a study planned on it answers another question. The locked rule is read as bounds on the
difference, each at its own level, and a normal approximation with the spread that was observed gives the size at which
all of them hold in 80 of 100 studies. With clusters the spread between clusters counts, so their observed sizes and
correlation are in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scipy import special

from service.domain.notes.exact_size import refine_size
from service.domain.notes.next_size import (
    NO_LESS,
    Spread,
    about,
    chance,
    find_needed,
    find_shown,
    spread_of,
)
from service.domain.notes.next_table import Goal, NextSizes, Step, tabulate
from service.domain.notes.rule_bounds import Bound, bounds_of, within
from service.domain.notes.undecided import open_step
from service.domain.plans.items.suite_items import find_population
from service.domain.plans.plan import Plan
from service.domain.power.worlds import LEADS
from service.domain.rules.answers import Answer
from service.domain.rules.claims.claim import good_direction
from service.domain.rules.settings import Setting, resolve
from service.domain.verdicts.records import HypothesisVerdict
from service.domain.verdicts.words.facts import Facts, facts_of
from service.domain.verdicts.words.headline import loss_of
from service.domain.verdicts.words.numbers import amount, both_ways, coverage, difference, percentage
from service.domain.verdicts.words.shipping import asking
from service.words import Listed, Message, Value, list_values, message

Z_95 = float(special.ndtri(0.975))
"""Standard errors to either end of a 95 % interval."""


@dataclass(frozen=True, slots=True)
class Truth:
    """A true difference that a size is worked out for, and what it is called."""

    at: float
    says: Message


@dataclass(frozen=True, slots=True)
class Next:
    """What can be done next."""

    says: Message | Listed
    sizes: NextSizes | None = None
    """The same as a table, goal by goal; None where it is a sentence alone."""


def describe_next(plan: Plan, verdict: HypothesisVerdict) -> Next:
    """Describe what can be done, with how many items where the observed spread tells."""
    unsized = _describe_unsized(plan, verdict)
    if unsized is not None:
        return Next(unsized)
    steps = _list_steps(plan, verdict)
    first, *more = (step.says for step in steps)
    says = [message("notes.next", step=first), *(message("notes.then", step=step) for step in more)]
    return Next(list_values(says), _tabulate_steps(plan, verdict, steps))


def _describe_unsized(plan: Plan, verdict: HypothesisVerdict) -> Message | Listed | None:
    """Say what can be done after an outcome of two arms that no size follows, and of one arm; None of others."""
    if verdict.outcome == "invalid":
        return message("notes.results_broke_plan" if verdict.delta is None else "notes.record_stands_against")
    if verdict.outcome == "inconclusive":
        if verdict.n == 0:
            return message("notes.no_results")
        if not verdict.rule_holds:
            return open_step(plan, verdict)
    if verdict.outcome in ("not_supported", "inconclusive") and verdict.rule_holds:
        return message("notes.held_without_claim")
    return None if verdict.reference is None else message("notes.next", step=_of_one_arm(verdict))


def _tabulate_steps(plan: Plan, verdict: HypothesisVerdict, steps: Sequence[Step]) -> NextSizes | None:
    """Return steps as a table; None where no spread was observed that would tell a size."""
    spread, population = spread_of(plan, verdict), find_population(plan, verdict.population)
    if spread is None or population is None:
        return None
    clusters = population.clusters if spread.clustered else None
    return tabulate(steps, spread, None if clusters is None else clusters.key)


def _list_steps(plan: Plan, verdict: HypothesisVerdict) -> list[Step]:
    """List what can be done after an outcome that a size may follow: at least that none can be told."""
    steps = list(_describe_steps(plan, verdict)) or [Step(message("notes.size_unknown"))]
    lacking = verdict.excluded.filled + verdict.excluded.pairs
    if lacking and verdict.outcome == "not_supported":
        says = message("notes.results_lacking", count=lacking)
        steps.append(Step(says, notes=(message("notes.sentence", step=says),)))
    return steps


def _of_one_arm(verdict: HypothesisVerdict) -> Message:
    """About how many more items or clusters would tell, as the test of one arm has it."""
    for test in verdict.analyses:
        analysis = Answer.of(verdict.analyses, test).analysis
        total, more = (analysis.count("against", "more", name) for name in ("total", "more"))
        unit = analysis.text("against", "more", "unit")
        if total is not None and more is not None:
            unit_text = message(f"findings.{unit}")
            rounded = about(total)
            further = rounded - (total - more)
            return message("notes.one_arm_more", total=f"{rounded:,}", more=f"{further:,}", unit=unit_text)
    return message("notes.one_arm_told" if verdict.outcome == "supported" else "notes.size_unknown")


def _describe_steps(plan: Plan, verdict: HypothesisVerdict) -> Iterator[Step]:
    """Describe which further items would settle what a hypothesis left open; nothing where its plan had looks."""
    spread = spread_of(plan, verdict)
    if (
        spread is None
        or verdict.delta is None
        or (plan.stopping is not None and plan.stopping.kind != "fixed_n")
    ):
        return
    setting = resolve(plan).require(verdict.id)
    facts = facts_of(setting, verdict)
    if verdict.outcome in ("supported", "not_supported"):
        truth = _truth(setting, verdict, facts)
        repeated = [*_describe_repetition(plan, setting, verdict, spread, truth, facts)]
        yield from repeated
        if repeated and verdict.claim == "equivalence":
            return  # its rule asks what stands below
        beside = next((step.says.values["size"] for step in repeated if "size" in step.says.values), None)
        yield from _describe_no_worse(plan, setting, verdict, spread, facts, beside)
    margin, alpha = _margin(verdict, facts)
    if margin is None or alpha is None or not 0 < alpha < 0.5 or verdict.outcome == "supported":
        return
    if verdict.outcome == "equivalent" and verdict.claim == "superiority":
        truth = _truth(setting, verdict, facts)
        if abs(truth.at) >= margin:  # who asks for a win reads first that it is no matter of size
            yield _describe_rejected(verdict, spread, truth, facts)
    yield from _describe_equivalence(plan, setting, verdict, spread, facts, margin, alpha)


def _describe_rejected(verdict: HypothesisVerdict, spread: Spread, truth: Truth, facts: Facts) -> Step:
    """Say that an equivalence test rejects the difference that the claim is of, with what its rule would take."""
    bounds = bounds_of(verdict, truth.at) or ()
    seen = _asks_to_observe(bounds, truth.at)
    half = [message("notes.note_half", least=_least(seen, facts))] if seen else []
    return Step(
        message("notes.rejected_here", truth=truth.says),
        (_goal(message("notes.goal_rule"), truth.says, bounds, spread, truth.at),) if bounds else (),
        (*half, message("notes.note_rejected", truth=truth.says)),
    )


def _describe_equivalence(
    plan: Plan,
    setting: Setting,
    verdict: HypothesisVerdict,
    spread: Spread,
    facts: Facts,
    margin: float,
    alpha: float,
) -> Iterator[Step]:
    """Yield the size that shows the arms equivalent: within the margin, corrected, or within half of it."""
    key, even, corrected = "within_margin", spread.where(0.0), 1
    if verdict.outcome == "equivalent":
        loss, many = loss_of(setting, verdict, facts), max(facts.uncorrected, 1)
        settles = find_needed(within(margin, alpha / many), even, 0.0)
        # Where as many units as there are would do if nothing differed, more of them are not what it lacks.
        if loss is not None and loss.is_open(verdict) and settles is not None and settles > spread.units:
            key, corrected = "settled", many
        else:
            key, margin = "half_margin", margin / 2
    bounds, level = within(margin, alpha / corrected), f"{alpha / corrected:.3g}"
    size = find_needed(bounds, even, 0.0)
    if size is None:
        return
    asked = message("notes.corrected", alpha=level, count=corrected) if corrected > 1 else ""
    says = message(
        f"notes.{key}",
        margin=both_ways(margin, facts),
        alpha=level,
        corrected=asked,
        size=_size(plan, verdict, spread, size),
        given=_describe_spread(even, spread),
        unlike=_describe_unlike(verdict, facts, bounds, spread, size),
    )
    goal = message(
        "notes.goal_equivalent",
        margin=both_ways(margin, facts),
        level=message(
            "notes.goal_corrected" if corrected > 1 else "notes.at_alpha", alpha=level, count=corrected
        ),
        half=message("notes.half_the_margin") if key == "half_margin" else "",
    )
    truths: list[tuple[float, Message]] = [(0.0, message("notes.zero_assumed"))]
    if verdict.delta:
        truths.append((verdict.delta, _describe_observed(verdict, facts)))
    yield Step(says, tuple(_goal(goal, words, bounds, spread, at) for at, words in truths))


def _goal(says: Message, truth: Value, bounds: tuple[Bound, ...], spread: Spread, at: float) -> Goal:
    """Make a goal that is reached where all bounds hold, if a difference of `at` is true."""
    then = spread.where(at)
    return Goal(says, truth, chance(bounds, then, spread.units, at), find_needed(bounds, then, at))


def _truth(setting: Setting, verdict: HypothesisVerdict, facts: Facts) -> Truth:
    """The true difference that matters: by the claim and the locked smallest effect, without one what was seen."""
    if setting.sesoi is None or verdict.claim not in LEADS:
        return Truth(
            verdict.delta or 0.0, message("notes.truth_observed", seen=_describe_observed(verdict, facts))
        )
    effect, count = LEADS[verdict.claim]
    at = count * float(setting.sesoi.exact()) * good_direction(setting.endpoint)
    return Truth(at, message(f"notes.truth_{effect}", amount=amount(at, facts)))


def _asks_to_observe(bounds: tuple[Bound, ...], truth: float) -> list[Bound]:
    """Return the bounds that ask to observe no less than is true: half of all studies of any size miss them."""
    return [bound for bound in bounds if not bound.z and bound.side * (bound.at - truth) >= -NO_LESS]


def _least(seen: Sequence[Bound], facts: Facts) -> Value:
    """Say the least that such bounds ask to observe."""
    return amount(max(seen, key=lambda bound: bound.side * bound.at).at, facts)


def _describe_repetition(
    plan: Plan, setting: Setting, verdict: HypothesisVerdict, spread: Spread, truth: Truth, facts: Facts
) -> Iterator[Step]:
    """Yield the size at which the rule would hold, if that is true."""
    bounds = bounds_of(verdict, truth.at)
    if not bounds:
        return
    read = facts.read
    if verdict.outcome == "not_supported" and read is not None and not facts.effects:
        best = read.ends.high if facts.good > 0 else read.ends.low
        if best is not None and facts.good * truth.at > facts.good * best:
            says = message("notes.falls_short", truth=truth.says, level=coverage(read.level))
            # No row of the table: a size beside it would call for a study that these data speak against.
            yield Step(says, (), (message("notes.sentence", step=says),))
            return
    then = spread.where(truth.at)
    given = _describe_spread(then, spread)
    at_least = None if then.discordance == spread.discordance else then.discordance
    here = chance(bounds, then, spread.units, truth.at)
    size = find_needed(bounds, then, truth.at)
    if size is not None:
        size = refine_size(plan, verdict, then, size, truth.at)
        words = _size(plan, verdict, spread, size)
        yield Step(
            message("notes.rule_holds", size=words, truth=truth.says, given=given),
            (Goal(message("notes.goal_rule"), truth.says, here, size),),
            at_least=at_least,
        )
        return
    without = _describe_without_size(plan, setting, verdict, spread, truth, facts, bounds)
    if without is not None:
        yield without
        return
    ending = {"supported": "_again", "not_supported": "_otherwise"}.get(verdict.outcome, "")
    says = message(f"notes.never_holds{ending}", truth=truth.says)
    yield Step(
        says,
        (Goal(message("notes.goal_rule"), truth.says, here, None),),
        (message("notes.sentence", step=says),),
    )


def _describe_without_size(
    plan: Plan,
    setting: Setting,
    verdict: HypothesisVerdict,
    spread: Spread,
    truth: Truth,
    facts: Facts,
    bounds: tuple[Bound, ...],
) -> Step | None:
    """Describe the size for a rule without its clause that asks to observe no less than is true; None without such.

    That clause fails half the time, whatever the size; the rest may need a size.
    """
    tested, seen = tuple(bound for bound in bounds if bound.z), _asks_to_observe(bounds, truth.at)
    then = spread.where(truth.at)
    size = find_needed(tested, then, truth.at) if seen else None
    if size is None:
        return None
    least = _least(seen, facts)
    ask: Value = ""
    if all(abs(bound.at) <= NO_LESS for bound in tested):
        ask = message("notes.any_gain" if facts.good * truth.at > 0 else "notes.any_loss")
    instead = _instead(verdict, tested, truth.at)
    # What lint knew at the lock says it of the SESOI, one line above.
    half = [] if setting.sesoi is not None else [message("notes.half_fail")]
    says = message("notes.goal_rule_instead", least=least, instead=instead)
    goals = [Goal(says, truth.says, chance(tested, then, spread.units, truth.at), size)]
    shown = find_shown(bounds, spread, about(size), truth.at)
    if shown is not None:
        beyond = amount(shown, facts)
        half.append(message("notes.with_clause", truth=beyond))
        odds = chance(bounds, spread.where(shown), spread.units, shown)
        beyond_text = message("notes.or_beyond", truth=beyond)
        goals.append(Goal(message("notes.goal_rule"), beyond_text, odds, about(size)))
    return Step(
        message(
            "notes.asks_to_observe",
            least=least,
            size=_size(plan, verdict, spread, size),
            truth=truth.says,
            given=_describe_spread(then, spread),
            half=list_values(half),
            ask=ask,
            instead=instead,
        ),
        tuple(goals),
        (message("notes.note_half", least=least),),
        None if then.discordance == spread.discordance else then.discordance,
    )


def _instead(verdict: HypothesisVerdict, tested: tuple[Bound, ...], truth: float) -> Message:
    """What a new rule has instead of a clause that asks to observe a size: nothing, or `delta > 0` for the direction.

    Where all other clauses hold of a difference on either side, such as a two-sided p-value, a rule without that
    clause would hold of a loss as well as of a gain.
    """
    turned = bounds_of(verdict, -truth) or ()
    if any(bound in turned for bound in tested):
        return message("notes.without_clause")
    return message("notes.in_its_place", clause=f"delta {'>' if truth > 0 else '<'} 0")


def _describe_no_worse(
    plan: Plan,
    setting: Setting,
    verdict: HypothesisVerdict,
    spread: Spread,
    facts: Facts,
    beside: Value | None,
) -> Iterator[Step]:
    """Yield the size at which a 95 % interval ends before a loss of the smallest effect of interest, if there is none.

    Behind another size (`beside`) it says as short as it can: with the same chance, and the same spread.

    It is what who wants to ship asks next: of a win that was not shown, where nothing of the plan asks it, and not
    where the interval is all on the worse side.
    """
    asked = setting.hypothesis.equivalence is not None or asking(setting, verdict)
    if (verdict.claim, verdict.outcome) != ("superiority", "not_supported") or setting.sesoi is None or asked:
        return
    read = facts.read
    if read is None or facts.effects or facts.about != "mean":
        return
    best = read.ends.high if facts.good > 0 else read.ends.low
    if best is not None and facts.good * best <= 0:
        return
    margin = float(setting.sesoi.exact())
    even = spread.where(0.0)
    bounds = (Bound(facts.good, -facts.good * margin, Z_95),)
    size = find_needed(bounds, even, 0.0)
    if size is None:
        return
    key = "no_worse" if beside is None else "no_worse_too"
    if isinstance(beside, Message) and beside.values.get(_unit(spread)) == f"{about(size):,}":
        key = "no_worse_too_many"
    named: dict[str, Value] = {
        "baseline": verdict.baseline or "",
        "margin": difference(margin, *facts.apart, binary=facts.binary, signed=False),
    }
    size_text = _size(plan, verdict, spread, size, compared=False)
    yield Step(
        message(f"notes.{key}", **named, size=size_text, given=_describe_spread(even, spread)),
        (
            _goal(
                message("notes.goal_no_worse", **named),
                message("notes.zero_assumed"),
                bounds,
                spread,
                0.0,
            ),
        ),
    )


def _describe_unlike(
    verdict: HypothesisVerdict, facts: Facts, bounds: tuple[Bound, ...], spread: Spread, size: int
) -> Value:
    """In how many studies of that size the bounds hold if the difference that was seen is the true one."""
    if not verdict.delta:
        return ""
    share = round(100 * chance(bounds, spread.where(verdict.delta), size, verdict.delta))
    return message("notes.unlike", share=share, seen=_describe_observed(verdict, facts))


def _describe_observed(verdict: HypothesisVerdict, facts: Facts) -> Message:
    """Return the difference that was observed, in words."""
    delta = amount(verdict.delta, facts)
    if count := verdict.excluded.filled:
        return message("notes.with_filled", amount=delta, count=count)
    return message("notes.observed", amount=delta)


def _margin(verdict: HypothesisVerdict, facts: Facts) -> tuple[float | None, float | None]:
    """Return the margin that equivalence was or could be shown within, and the level of its tests."""
    margin = facts.margin
    ends = (None, None) if margin is None else (margin.low, margin.high)
    if margin is not None and None not in ends and abs((ends[0] or 0.0) + (ends[1] or 0.0)) <= 1e-12:
        return margin.high, margin.alpha if margin.level is None else (1 - margin.level) / 2
    fallback = facts.fallback
    if fallback is not None:
        share = 1.0
        if fallback.adjusted and fallback.p_value:
            share = (
                min(1.0, fallback.p_value / fallback.adjusted) if fallback.adjusted < 1 else 1 / facts.size
            )
        return fallback.margin, None if fallback.alpha is None else fallback.alpha * share
    if verdict.claim == "equivalence":
        pairs = bounds_of(verdict, 0.0) or ()
        highs = [pair for pair in pairs if pair.side < 0 and pair.at > 0]
        lows = [pair for pair in pairs if pair.side > 0 and pair.at < 0]
        if highs and lows:
            return min(highs[0].at, -lows[0].at), float(special.ndtr(-max(highs[0].z, lows[0].z)))
    return None, None


def _size(
    plan: Plan, verdict: HypothesisVerdict, spread: Spread, size: int, *, compared: bool = True
) -> Message:
    """Return a size in words, and how many more than there were if that is wanted too.

    Both are rounded up: the rest is no nearer known than the size.
    """
    population, total = find_population(plan, verdict.population), about(size)
    more = about(total - spread.units) if compared and size > spread.units else 0
    units, values = "items", {"items": f"{total:,}"}
    if spread.clustered and population is not None and population.clusters is not None:
        items = about(round(total * spread.items))
        units, values = (
            "clusters",
            {"clusters": f"{total:,}", "key": population.clusters.key, "items": f"{items:,}"},
        )
    return message(
        f"notes.more_{units}" if more else f"notes.{units}", more=f"{more:,}", n_more=more, **values
    )


def _unit(spread: Spread) -> str:
    """Return what a size counts: items, or clusters."""
    return "clusters" if spread.clustered else "items"


def _describe_spread(spread: Spread, seen: Spread) -> Message:
    """Return what is taken to be so: as it was seen, or as much more as the true difference asks."""
    if spread.clustered:
        return message("notes.clusters_vary")
    if spread.discordance is not None:
        more = "" if spread.discordance == seen.discordance else "_at_least"
        return message(f"notes.items_discordant{more}", share=percentage(float(f"{spread.discordance:.3g}")))
    return message("notes.items_vary")
