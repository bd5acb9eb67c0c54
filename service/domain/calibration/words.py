"""A calibration in sentences: the rate, what it is held against, and what flipping assumes."""

from __future__ import annotations

from collections.abc import Sequence

from service.domain.calibration.records import CalibratedHypothesis
from service.stats.shared.declaring.common import Interval

ASSUMES = (
    "Flipping the labels within items (or within whole clusters) assumes that without a difference the two arms are "
    "exchangeable there. The rates hold given these data: an interval is the Monte-Carlo error of the runs, not one "
    "for the rate on other items. Hypotheses of one population share the coins of a run."
)


def sentence(calibrated: CalibratedHypothesis, runs: int, *, enumerated: bool) -> str:
    """Return what the flips say of one hypothesis."""
    name = calibrated.hypothesis
    if calibrated.units_that_differ == 0:
        units = calibrated.flipped
        return f"The arms of {name} differ in none of its {units}, so flipping their labels changes nothing."
    how = f"all {runs} flips" if enumerated else f"{runs} runs with labels flipped at random"
    unit = "cluster by cluster" if calibrated.flipped == "clusters" else "item by item"
    sentences = [
        f"In {how}, {unit}, the whole rule of {name} held in {calibrated.passed}"
        f"{_share(calibrated.rate, calibrated.mc_ci)}."
    ]
    if calibrated.exact_rate is not None and not enumerated:
        sentences.append(f"Over all flips it is {percent(calibrated.exact_rate)}.")
    sentences.append(_describe_meaning(calibrated))
    if calibrated.undecided:
        sentences.append(
            f"In {calibrated.undecided} of them the rule could not be decided; these count as not passing."
        )
    return " ".join(sentences)


def family(names: Sequence[str], passed: int, runs: int, mc_ci: Interval | None, policy: str) -> str:
    """Return what the flips say of several hypotheses together."""
    done = "nothing is done about several hypotheses" if policy == "none" else f"the policy is {policy}"
    share = _share(passed / runs, mc_ci)
    return f"At least one of {', '.join(names)} passed in {passed} of {runs} flips{share}; {done}."


def percent(share: float) -> str:
    """Return a share as a percentage with three digits."""
    return f"{100 * share:.3g} %"


def _share(rate: float, mc_ci: Interval | None) -> str:
    if mc_ci is None or mc_ci.low is None or mc_ci.high is None:
        return f" ({percent(rate)})"
    return f" ({percent(rate)}, Monte-Carlo interval {percent(mc_ci.low)} to {percent(mc_ci.high)})"


def _describe_meaning(calibrated: CalibratedHypothesis) -> str:
    """Describe what the share of passes means: a power without a difference, or an error beside its level."""
    if calibrated.tells == "power_at_zero":
        claim = calibrated.claim.replace("_", "-")
        return f"The claim of {claim} is true without a difference, so this is how often it would be found."
    if calibrated.nominal_alpha is None:
        return "That is its type-I error on these data; the rule states no alpha of its own."
    alpha = percent(calibrated.nominal_alpha)
    if calibrated.reading == "liberal":
        return f"Its type-I error on these data is above the {alpha} it states: the rule is liberal."
    if calibrated.reading == "conservative":
        return (
            f"Its type-I error on these data is below the {alpha} it states; a rule that also asks for a direction or "
            "a least difference passes less often than its tests alone."
        )
    return f"Its type-I error on these data agrees with the {alpha} it states."
