"""A verdict's first line, as a person would say it, and its second: what was not shown.

Both are made when a verdict is read. No headline says more than the rule and the interval that the verdict reads: a
margin stands in it where it is the one that was shown, and an estimate beside the interval of the same quantity.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from service.domain.plans.plan import Plan
from service.domain.rules.claims.claim import Target
from service.domain.rules.settings import Setting, resolve
from service.domain.rules.truth import Ends
from service.domain.verdicts.reading import IntervalRead
from service.domain.verdicts.records import HypothesisVerdict
from service.domain.verdicts.words.facts import Facts, TestedEffect, facts_of, fallback_case
from service.domain.verdicts.words.numbers import (
    amount,
    both_ways,
    cost,
    coverage,
    difference,
    percentage,
    points,
    score,
)
from service.domain.verdicts.words.one_arm import against, figures_of_one_arm, open_of_one_arm, shows_short
from service.domain.verdicts.words.reasons import reason_message, undecided_clauses
from service.domain.verdicts.words.shipping import Loss, shipping
from service.words import Message, Value, list_values, message

EVERY = "every"
"""The field of a suite's test between whose ends all tasks lie."""


@dataclass(frozen=True, slots=True)
class Figure:
    """The numbers of a headline, in the unit of the endpoint: 0.02 is 2 pp."""

    value: float
    low: float | None
    """None: open on that side."""
    high: float | None
    against: float
    """No difference, or what one arm is held against."""
    sesoi: float | None
    unit: Literal["pp", "%", ""] = ""
    """What the line counts in: percentage points, per cent of one arm's items, or units of a score."""
    level: float | None = None
    """Of the interval; None where it is not known."""


Qualified: TypeAlias = Literal["uncorrected", "narrowly"]
"""What stands behind an equivalence that is not settled."""
EQUIVALENT = "rule_not_met_but_equivalent"


@dataclass(frozen=True, slots=True)
class Headline:
    """What a person in a hurry reads of a hypothesis."""

    line: Message
    """Outcome, arms, estimate with its interval, cost where a rule asks it; without a full stop."""
    open: Value
    """What was not shown, as a sentence; empty where the line says all."""
    ship: Value = ""
    """Whether it is safe to ship, as far as this can say; empty of a claim about one arm."""
    decided: Value = ""
    """What made the outcome, where that is a test beside a rule that does not hold; else empty."""
    figure: Figure | None = None
    """The estimate and the interval of the line, to be drawn; None where the line has no interval of a mean."""

    @property
    def qualified(self) -> Qualified | None:
        """How the line qualifies an equivalence; None where it says it of a whole."""
        return qualified(self.line)


def qualified(line: Message) -> Qualified | None:
    """How a first line qualifies an equivalence: a correction would undo it, or it passed narrowly; else None."""
    rule = line.values.get("rule")
    said = rule.code if isinstance(rule, Message) else ""
    return next((how for how in get_args(Qualified) if said == f"headlines.{EQUIVALENT}_{how}"), None)


def test_of_line(setting: Setting, verdict: HypothesisVerdict) -> str | None:
    """The plan's name of the test whose interval stands in the first line: the one that decided; None without one."""
    return _Words(setting, verdict, facts_of(setting, verdict)).test_of_line()


def loss_of(setting: Setting, verdict: HypothesisVerdict, facts: Facts) -> Loss | None:
    """Return how much worse the candidate may be by the interval of the line; None where that does not say."""
    return _Words(setting, verdict, facts).loss()


def headline(setting: Setting, verdict: HypothesisVerdict) -> Headline:
    """Return the first two lines of a hypothesis' verdict, of this version or an earlier one."""
    words = _Words(setting, verdict, facts_of(setting, verdict))
    return Headline(words.line(), words.open(), words.ship(), words.decided(), words.figure())


@dataclass(frozen=True, slots=True)
class _Words:
    setting: Setting
    verdict: HypothesisVerdict
    facts: Facts

    @property
    def read(self) -> IntervalRead | None:
        return self.facts.read

    def line(self) -> Message:
        says = self._says()
        if self.verdict.outcome == "invalid":
            return message("headlines.line_invalid", says=says, scope=self._scope())
        code = self._rule()
        within = {"margin": self._margin_within()} if code == f"{EQUIVALENT}_uncorrected" else {}
        rule = message(f"headlines.{code}", **within)
        figures = self._figures()
        if figures is None:
            return message("headlines.line_without_figures", says=says, scope=self._scope(), rule=rule)
        return message("headlines.line", says=says, scope=self._scope(), figures=figures, rule=rule)

    def _says(self) -> Message:
        """Say what the claim came to: of whom, against whom, and within which margin."""
        verdict, margin, way = self.verdict, self._margin(), self._way()
        margin_text: Value = message("headlines.the_margin") if margin is None else margin
        if verdict.claim != "minimum_effect" or way == "equivalent":
            margin_text = self._margin_within()
            if verdict.claim == "non_inferiority" and way != "equivalent" and margin is not None:
                margin_text = message("headlines.margin_note", margin=margin)
        return message(
            f"headlines.{verdict.claim}_{way}",
            candidate=verdict.candidate,
            baseline=against(verdict, self.facts),
            margin=margin_text,
            about=self._about(),
        )

    def _margin_within(self) -> Value:
        margin = self._margin()
        return "" if margin is None else message("headlines.margin_within", margin=margin)

    def _about(self) -> Value:
        about = self.facts.about
        return "" if about == "mean" else message(f"headlines.about_{about}")

    def _way(self) -> str:
        """The outcome; of a claim of more that does not hold, on which side of 0 the interval lies, if on one.

        An equivalence that a correction undoes is told behind the figures, with that, and not as what was shown.
        """
        verdict, read = self.verdict, self.read
        if self._qualified() == "uncorrected":
            return "not_supported"
        if verdict.reference is not None:
            return "behind" if shows_short(verdict, self.facts) else verdict.outcome
        if (verdict.claim, verdict.outcome) != ("superiority", "not_supported") or read is None:
            return verdict.outcome
        if self._effect_read() is not None or read.reading not in ("positive", "negative"):
            return verdict.outcome
        return "ahead" if (read.reading == "positive") == (self.facts.good > 0) else "behind"

    def _margin(self) -> Value | None:
        """Return the margin that was shown, or that the claim asks for; None where there are several."""
        size = self._margin_size()
        return (
            None
            if size is None
            else difference(size, *self.facts.apart, binary=self.facts.binary, signed=False)
        )

    def _margin_size(self) -> float | None:
        """That margin in the unit of the endpoint."""
        facts, size = self.facts, None
        if facts.decided and facts.fallback is not None:
            size = facts.fallback.margin
        elif facts.margin is not None:
            ends = [abs(end) for end in (facts.margin.low, facts.margin.high) if end is not None]
            size = ends[0] if max(ends) - min(ends) <= 1e-12 else None
        elif not facts.other_margins:
            # What the claim is held against.
            margin = Target.of(self.setting).margin
            size = None if margin is None else float(margin)
        return size

    def _scope(self) -> Value:
        """Endpoint and population, where the plan's hypotheses differ in them."""
        hypotheses, verdict = self.setting.plan.hypotheses or (), self.verdict
        several = {
            name: len({getattr(hypothesis, name) for hypothesis in hypotheses}) > 1
            for name in ("endpoint", "population")
        }
        scope = "_".join(
            f"{where}_{name}" for where, name in (("in", "endpoint"), ("on", "population")) if several[name]
        )
        if not scope:
            return ""
        return message(f"headlines.{scope}", endpoint=verdict.endpoint, population=verdict.population)

    def _rule(self) -> str:
        """Return the code of what the headline says of the rule, or of the equivalence test beside it."""
        verdict = self.verdict
        if verdict.outcome == "inconclusive" and not verdict.rule_holds:
            return "rule_undecided"
        if not verdict.rule_holds:
            if verdict.outcome != "equivalent":
                return "rule_not_met"
            how = self._qualified()
            return EQUIVALENT if how is None else f"{EQUIVALENT}_{how}"
        return "rule_met" if verdict.outcome in ("supported", "equivalent") else "rule_met_without_claim"

    def _qualified(self) -> Qualified | None:
        """What stands behind an equivalence beside a rule that is not met; None of others, and where it is settled."""
        verdict = self.verdict
        loss = None if verdict.rule_holds or verdict.outcome != "equivalent" else self.loss()
        if loss is None:
            return None
        if loss.undone is not None:
            return "uncorrected"
        return "narrowly" if loss.is_open(verdict) or loss.barely else None

    def _figures(self) -> Message | None:
        """The estimate with the interval of the same quantity, and how many times as much the candidate costs."""
        if self.verdict.reference is not None:
            return figures_of_one_arm(self.verdict, self.facts)
        effect = self._effect_read()
        value = self.verdict.delta if effect is None else effect.value
        if value is None:
            return None
        estimate = message(
            "headlines.estimate",
            label=self._label(effect),
            amount=amount(value, self.facts),
            interval=self._interval(),
        )
        costs = [cost(ratio) for ratio in self.facts.ratios if ratio.endpoint in self._costs_of_rule()]
        if not costs:
            return estimate
        return message(
            "headlines.estimate_and_cost", estimate=estimate, costs=list_values(costs, "lists.semicolon")
        )

    def _costs_of_rule(self) -> set[str]:
        """Endpoints of which the rule asks a ratio."""
        return {
            self.setting.plan.reads(field.test, self.verdict.endpoint)
            for field in (clause.field for clause in self.setting.clauses)
            if field.test is not None and field.path[0] == "ratio"
        }

    def _effect_read(self) -> TestedEffect | None:
        """Return what the interval is of, where that is not the difference of means over items."""
        test = None if self.read is None else self.read.of.partition(".")[0]
        return next((effect for effect in self.facts.effects if effect.test == test), None)

    def figure(self) -> Figure | None:
        """Return the numbers of the line, where they are means or their difference with an interval."""
        verdict, read = self.verdict, self.read
        low, high = self._ends()
        if read is None or (low is None and high is None) or self._effect_read() is not None:
            return None
        if verdict.outcome == "invalid" or self.facts.about != "mean":
            return None
        value = verdict.delta if verdict.reference is None else verdict.mean
        if value is None:
            return None
        percent: Literal["pp", "%"] = "pp" if verdict.reference is None else "%"
        unit = percent if self.facts.binary else ""
        return Figure(value, low, high, read.reference or 0.0, read.sesoi, unit, self._shown()[1])

    def _label(self, effect: TestedEffect | None) -> Value:
        if effect is None:
            return message("headlines.of_means") if self.facts.about != "mean" else ""
        q = 0.5 if effect.effect.q is None else effect.effect.q
        quantile = message("verdicts.median") if q == 0.5 else message("verdicts.quantile", q=f"{q:g}")
        return message(f"headlines.of_{effect.effect.kind}", quantile=quantile)

    def _interval(self) -> Value:
        low, high = self._ends()
        if low is None and high is None:
            return ""
        if self._of_every_task and low is not None and high is not None:
            # Between the outermost ends of the tasks' own intervals: it is no interval of the mean before it.
            level = coverage(self._shown()[1])
            return message("headlines.every_task", level=level, span=self._span(low, high))
        return self._in_parentheses(low, high, self._shown()[1])

    @property
    def _of_every_task(self) -> bool:
        """Whether the interval is that between which every single task of a suite lies."""
        return self.read is not None and self.read.of.rpartition(".")[2] == EVERY

    def _in_parentheses(self, low: float | None, high: float | None, level: float | None) -> Message:
        """Return an interval behind what it is of: at least one end is there."""
        at = coverage(level)
        if high is None:
            return message("headlines.ci_from", level=at, low=amount(low, self.facts))
        if low is None:
            return message("headlines.ci_to", level=at, high=amount(high, self.facts))
        return message("headlines.ci", level=at, span=self._span(low, high))

    def _ends(self) -> tuple[float | None, float | None]:
        """Return the ends of the interval that are there."""
        return _finite_ends(self._shown()[0])

    def _worse_end(self) -> float | None:
        """That end of the interval that decided, on the side where the candidate is worse."""
        low, high = _finite_ends(self._decisive()[0])
        return low if self.facts.good > 0 else high

    def _shown(self) -> tuple[Ends, float | None]:
        """Return the interval of the line, with its level.

        It is the one that decided the outcome. An equivalence that a correction would undo is not what the line says:
        there the line has the interval that the rule reads, which is not met.
        """
        if self.read is not None and self._qualified() == "uncorrected":
            return self.read.ends, self.read.level
        return self._decisive()

    def _decisive(self) -> tuple[Ends, float | None]:
        """Return the interval that decided the outcome, with its level.

        An equivalence by a test of its own rests on that test's interval, of 90 % where alpha is 5 %: the one that the
        rule names is wider and may hold the margin, so that beside it the line would seem to contradict itself.
        """
        own, read = self._interval_that_decided(), self.read
        if own is not None:
            return own
        return (Ends(None, None), None) if read is None else (read.ends, read.level)

    def _interval_that_decided(self) -> tuple[Ends, float | None] | None:
        """That of an equivalence test beside a false rule, with its level; None where the rule decided."""
        fallback = self.facts.fallback
        if self.verdict.outcome != "equivalent" or not self.facts.decided or fallback is None:
            return None
        # Filled in the harder way, the test's numbers are of other differences than the estimate.
        if fallback.ci is None or fallback.way is not None or self._effect_read() is not None:
            return None
        level = None if fallback.alpha is None else 1 - 2 * fallback.alpha
        return Ends(fallback.ci.low, fallback.ci.high), level

    def test_of_line(self) -> str | None:
        """Return the test that the shown interval is of."""
        own = self._interval_that_decided()
        if own is not None and self.facts.fallback is not None and self._shown() == own:
            return self.facts.fallback.test
        return None if self.read is None else self.read.of.partition(".")[0]

    def _span(self, low: float, high: float) -> Message:
        """Return both ends with one unit."""
        first = points(low, *self.facts.apart) if self.facts.binary else score(low, *self.facts.apart)
        return message("headlines.span", low=first, high=amount(high, self.facts))

    def open(self) -> Value:
        """Return the second line: what the data did not show."""
        verdict = self.verdict
        if verdict.outcome == "invalid":
            return message("headlines.open_invalid", reason=reason_message(verdict.reason))
        if verdict.rule_holds and verdict.outcome in ("not_supported", "inconclusive"):
            return message("headlines.open_claim", reason=reason_message(verdict.reason))
        if verdict.outcome == "inconclusive":
            return message("headlines.open_because", reason=undecided_clauses(verdict))
        if verdict.reference is not None:
            return open_of_one_arm(verdict, self.facts)
        if verdict.outcome == "not_supported":
            return self._open_equal()
        if verdict.outcome == "equivalent" or verdict.claim == "equivalence":
            return message("headlines.open_no_difference")
        if verdict.claim == "non_inferiority":
            return self._open_better()
        return self._open_size()

    def ship(self) -> Value:
        """Return what this says of shipping the candidate."""
        low, high = self._ends()
        behind = None
        if self._way() == "behind" and low is not None and high is not None:
            behind = self._span(low, high)
        return shipping(
            self.setting,
            self.verdict,
            margin=self._margin(),
            about=self._about(),
            behind=behind,
            loss=self.loss(),
            beside=fallback_case(self.facts),
        )

    def loss(self) -> Loss | None:
        """Return how much worse the candidate may be by the interval of the line; None where that does not say."""
        worst = self._worse_end()
        # Of a claim about every task, run or item the line says by itself what its interval is of.
        if worst is None or self.facts.about != "mean" or self._effect_read() is not None:
            return None
        return Loss(self.facts, worst, self._margin_size(), self._decisive()[1])

    def decided(self) -> Value:
        """Return what made an equivalence beside a rule that does not hold; empty where the line has said it."""
        fallback = self.facts.fallback
        if self.verdict.outcome != "equivalent" or not self.facts.decided or fallback is None:
            return ""
        if fallback.margin is None or fallback.alpha is None:
            return ""
        if self._qualified() == "uncorrected":
            return ""
        own = self._interval_that_decided()
        return message(
            "headlines.decided",
            test=fallback.test,
            margin=both_ways(fallback.margin, self.facts),
            alpha=f"{fallback.alpha:g}",
            interval=self._in_parentheses(*_finite_ends(own[0]), own[1]) if own else "",
            beyond=self._beyond(),
        )

    def _open_equal(self) -> Message:
        """Of a rule that is false: what it misses where a gain is seen, else what stays possible."""
        if self._way() == "ahead":
            missed = [clause.text for clause in self.verdict.clauses if clause.holds is False]
            codes = list_values((message("verdicts.code", text=text) for text in missed), "lists.comma")
            return message("headlines.open_clauses", clauses=codes)
        low, high = self._ends()
        one_sided = self.read is not None and self.read.reading in ("positive", "negative")
        if low is None or high is None or not one_sided:
            return message("headlines.open_equal")
        return message("headlines.open_between", span=self._span(low, high), at=self._at(self._shown()[1]))

    def _at(self, level: float | None) -> Value:
        """At which level, behind what an interval leaves open."""
        return "" if level is None else message("headlines.at_level", level=percentage(level))

    def _beyond(self) -> Value:
        """That the rule's interval reaches beyond the margin, where that of the test that decided does not."""
        read, size = self.read, self._margin_size()
        if self._interval_that_decided() is None or read is None or size is None or read.level is None:
            return ""
        low, high = read.ends.low, read.ends.high
        if low is None or high is None or max(-low, high) < size or math.isinf(high - low):
            return ""
        return message("headlines.beyond_margin", level=percentage(read.level), span=self._span(low, high))

    def _open_better(self) -> Message:
        reading = None if self.read is None else self.read.reading
        if reading == ("negative" if self.facts.good > 0 else "positive"):
            return message("headlines.open_loss")
        return message("headlines.open_better", candidate=self.verdict.candidate)

    def _open_size(self) -> Value:
        """Return a gain of the SESOI where the interval leaves it open, else how large the gain is."""
        low, high = self._ends()
        near = self._worse_end()
        sesoi = None if self.read is None else self.read.sesoi
        if near is None:
            return ""
        if sesoi is not None and self._effect_read() is None and abs(near) < sesoi:
            return message(
                "headlines.open_at_least",
                margin=difference(sesoi, *self.facts.apart, binary=self.facts.binary, signed=False),
            )
        if low is None or high is None:
            return message("headlines.open_size_beyond", near=amount(near, self.facts))
        return message("headlines.open_size")


def lines_of(plan: Plan, verdicts: tuple[HypothesisVerdict, ...]) -> Iterator[Message]:
    """Yield the first line of every hypothesis, with its name where there are several."""
    resolved = resolve(plan)
    for verdict in verdicts:
        line = headline(resolved.require(verdict.id), verdict).line
        yield (
            line if len(verdicts) == 1 else message("headlines.hypothesis", hypothesis=verdict.id, line=line)
        )


def _finite_ends(ends: Ends) -> tuple[float | None, float | None]:
    """Return the ends of an interval; None where it is open."""
    low, high = (None if end is None or math.isinf(end) else end for end in (ends.low, ends.high))
    return low, high
