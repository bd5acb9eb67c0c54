"""Whether it is safe to ship, as far as a verdict can say: that the candidate is no worse, or that nobody asked.

A rule that does not hold shows nothing of the kind, and nor does an interval that no rule reads: only a claim of no
worse, of equivalence or of better says something, and only of its own endpoint.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from service.domain.rules.answers import Answer
from service.domain.rules.settings import Setting
from service.domain.verdicts.records import HypothesisVerdict
from service.domain.verdicts.words.facts import Facts
from service.domain.verdicts.words.numbers import amount, coverage, difference
from service.stats.shared.data.clustering import ENOUGH
from service.words import Value, list_values, message

ASKS = ("non_inferiority", "equivalence")
"""Claims that say how much worse the candidate may be."""
NEAR = 0.1
"""An end so near to the margin, as a part of it, is said to be near: a test of another kind might not rule it out."""
SHORT = frozenset({"CAUTION", "FEW_CLUSTERS"})
"""Warnings of tests whose interval tends to be too short."""


@dataclass(frozen=True, slots=True)
class Loss:
    """How much worse the candidate may be by an interval: its worse end, in the unit of the endpoint."""

    facts: Facts
    end: float
    margin: float | None
    """The size of the margin; None where there is none, or several."""
    level: float | None

    @property
    def bounded(self) -> bool:
        """Whether the interval ends within the margin: a test may rule out what one of another level does not."""
        return self.margin is not None and self.facts.good * self.end > -self.margin

    @property
    def barely(self) -> bool:
        """Whether it ends just before the margin."""
        if self.margin is None or not self.bounded or self.facts.good * self.end >= 0:
            return False
        return self.margin - abs(self.end) < NEAR * self.margin

    def reaches(self) -> Value:
        """In parentheses, how far the interval reaches within the margin; empty where it does not end there."""
        if not self.bounded:
            return ""
        uncorrected = self.facts.uncorrected if self.undone is None else 0
        return message(
            "headlines.worst",
            level=coverage(self.level),
            amount=amount(self.end, self.facts),
            wider=self._wider(),
            family=message("headlines.worst_uncorrected", count=str(uncorrected)) if uncorrected else "",
        )

    def doubts(self, verdict: HypothesisVerdict) -> Value:
        """Say what speaks against what was shown: a correction that undoes it, an interval that is too short."""
        if not self.bounded:
            return ""
        reasons = []
        if self.undone is not None:
            p, alpha = self.undone
            count = str(self.facts.uncorrected)
            reasons.append(message("headlines.undone", count=count, p=f"{p:.3g}", alpha=f"{alpha:g}"))
        if short := why_interval_is_short(verdict):
            reasons.append(message(f"headlines.too_short_{short}"))
        return message("headlines.doubts", reasons=list_values(reasons, "lists.and")) if reasons else ""

    @property
    def undone(self) -> tuple[float, float] | None:
        """p and level of the equivalence test that decided, where a correction for the other hypotheses undoes it."""
        fallback, many = self.facts.fallback, self.facts.uncorrected
        if not many or fallback is None or not self.facts.decided:
            return None
        p, alpha = fallback.p_value, fallback.alpha
        return None if p is None or alpha is None or many * p < alpha else (p, alpha)

    def _wider(self) -> Value:
        """Return the end of the rule's interval with its level, where it is another one and ends beyond the margin."""
        read = self.facts.read
        if read is None or read.level is None or read.level == self.level or self.margin is None:
            return ""
        end = read.ends.low if self.facts.good > 0 else read.ends.high
        if end is None or math.isinf(end) or self.facts.good * end > -self.margin:
            return ""
        return message("headlines.worst_wider", level=coverage(read.level), amount=amount(end, self.facts))

    def assurance(self, verdict: HypothesisVerdict) -> Value:
        """The first word on shipping where a loss beyond the margin is excluded: yes, only just, or not settled."""
        if self.is_open(verdict):
            return message("headlines.ship_borderline")
        return message("headlines.ship_barely" if self.barely else "headlines.ship_yes")

    def is_open(self, verdict: HypothesisVerdict) -> bool:
        """Tell whether it is not settled after all.

        A correction for the other hypotheses undoes it; or the interval ends just before the margin and is itself too
        short, or one of several that were not corrected: a wider one, as either asks for, would end beyond.
        """
        weak = bool(self.facts.uncorrected) or why_interval_is_short(verdict) is not None
        return self.undone is not None or (self.barely and weak)

    def down(self, candidate: str) -> Value:
        """Return how much worse the candidate may be where nobody asked; empty where no end is on the worse side."""
        if self.facts.good * self.end >= 0:
            return ""
        size = difference(abs(self.end), *self.facts.apart, binary=self.facts.binary, signed=False)
        return message("headlines.may_be_worse", candidate=candidate, amount=size, level=coverage(self.level))


def why_interval_is_short(verdict: HypothesisVerdict) -> Literal["few", "uneven"] | None:
    """Why an analysis warned that its interval tends to be too short: too few clusters, or uneven ones; else None."""
    answers = [Answer.of(verdict.analyses, name) for name in verdict.analyses]
    warned = [answer.analysis.count("n_clusters") for answer in answers if SHORT & answer.warning_codes]
    if not warned:
        return None
    return "few" if any(count is not None and count < ENOUGH for count in warned) else "uneven"


def shipping(
    setting: Setting,
    verdict: HypothesisVerdict,
    *,
    margin: Value | None,
    about: Value,
    behind: Value | None,
    loss: Loss | None,
    beside: str | None,
) -> Value:
    """Return what a hypothesis says of shipping its candidate, as a sentence; empty of one arm, which replaces none.

    Args:
        margin: the one that was shown, or that the claim asks for; None where there are several.
        about: what the claim is about, where that is not the means.
        behind: the interval, where all of it lies on the worse side.
        loss: how much worse the candidate may be by the interval of the line; None where that does not say.
        beside: what there is to say of an equivalence test beside a false rule (`fallback_case`).

    Example:
        A superiority claim that does not hold, beside no other: "Safe to ship? Not known: no hypothesis or
        equivalence test of the plan asks whether it is no worse than words in the endpoint hit@1."
    """
    if verdict.reference is not None or verdict.baseline is None:
        return ""
    if verdict.outcome == "invalid":
        return message("headlines.ship_invalid")
    values: dict[str, Value] = {
        "candidate": verdict.candidate,
        "baseline": verdict.baseline,
        "endpoint": verdict.endpoint,
        "margin": message("headlines.the_margin") if margin is None else margin,
        "about": about,
        "worst": "" if loss is None else loss.reaches(),
        "doubts": "" if loss is None else loss.doubts(verdict),
        "yes": message("headlines.ship_yes") if loss is None else loss.assurance(verdict),
        "down": "" if loss is None else loss.down(verdict.candidate),
        "hypothesis": verdict.id,
    }
    asks = verdict.claim in ASKS
    if beside == "decided":
        return message(f"headlines.ship_equivalent{_lost(verdict)}", **values)
    if verdict.outcome == "equivalent" or (verdict.outcome == "supported" and asks):
        return message(f"headlines.ship_no_worse{_lost(verdict)}", **values)
    if verdict.outcome == "supported":
        return message(f"headlines.ship_better{_lost(verdict)}", **values)
    if behind is not None:
        return message("headlines.ship_behind", span=behind, **values)
    if asks:
        return message("headlines.ship_open", **values)
    others = asking(setting, verdict)
    if others:
        return message(
            "headlines.ship_elsewhere", hypotheses=list_values(others, "lists.comma"), count=len(others)
        )
    if setting.hypothesis.equivalence is None:
        return message("headlines.ship_unasked", **values)
    return message(f"headlines.ship_{'unclaimed' if beside is None else 'untold'}", **values)


def _lost(verdict: HypothesisVerdict) -> str:
    """Say where a slice is shown to lose more than the plan allows, the sentence ends with that."""
    return "_slices" if verdict.slices is not None and verdict.slices.outcome == "fail" else ""


def asking(setting: Setting, verdict: HypothesisVerdict) -> list[str]:
    """Other hypotheses that claim no worse of the same arms, endpoint and items."""
    return [
        other.id
        for other in setting.plan.hypotheses or ()
        if other.claim in ASKS
        and (other.candidate, other.baseline, other.endpoint, other.population)
        == (verdict.candidate, verdict.baseline, verdict.endpoint, verdict.population)
    ]
