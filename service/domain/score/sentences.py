"""A score in words: nothing that its interval does not carry."""

from __future__ import annotations

from service.domain.comparison.sentences import rounded_up
from service.domain.comparison.suites import heaviest
from service.domain.faults import listed
from service.domain.score.records import Score
from service.stats.shared.declaring.common import Interval
from service.stats.shared.declaring.sentences import level_text

NAMED = 3
"""Slices that the next step names."""
_RULES = {
    "clopper-pearson": "Outcomes are right or wrong and items are taken as independent: Clopper and Pearson's exact "
    "interval.",
    "gaffke": "Outcomes are scores and items are taken as independent: Gaffke's bounds, which know of scores too rare "
    "to have been seen.",
    "t": "Outcomes are scores, items are taken as independent, and no range is known: Student's t.",
    "cr2_t": "Items of a cluster are not independent: CR2 with Bell and McCaffrey's degrees of freedom.",
    "korn-graubard": "Items of a cluster are not independent, and clusters do not differ, so the exact interval (Korn "
    "and Graubard) of one item per cluster.",
    "furthest": "Items of a cluster are not independent: each end is the further of CR2 t and of the exact interval of "
    "an effective number of items (Korn and Graubard), since outcomes are scores, clusters few or uneven, or the mean "
    "near an end.",
}
_SUITE_RULES = {
    "these_tasks": "Items are of several tasks: the mean of the tasks under their weights, each end the further of CR2 "
    "t with Satterthwaite degrees of freedom, clusters free to span tasks, and of bounds that know what was not seen.",
    "new_tasks": "Items are of several tasks, which are taken as a sample of such tasks: t on the tasks' means under "
    "their weights.",
}
_UNDECIDED = "Nothing varies, so no interval is given."
_THRESHOLD = " Each side of the threshold is tested at half of alpha by that interval, which is the test turned around."


def sentence(score: Score, name: str) -> str:
    """The outcome, the mean with its interval, and what that leaves open."""
    told = f"{name} has {_show(score, score.mean)} ({_interval(score, score.ci)}; {_size(score)})"
    against = score.against
    if against is None:
        return f"Score: {told}.{_clusters(score)}{_runs(score)}{_pooled(score)}"
    high, bar = score.prefers == "higher", _show(score, against.threshold)
    if score.outcome == "meets":
        return f"{'Meets' if high else 'Keeps to at most'} {bar}: {told}.{_clusters(score)}{_pooled(score)}"
    if score.outcome == "falls_short":
        return f"{'Falls short of' if high else 'Exceeds'} {bar}: {told}.{_clusters(score)}{_pooled(score)}"
    asked = f"whether it is {'at least' if high else 'at most'} {bar}"
    return f"Cannot tell {asked}: {told}; {_open(score)}.{_more(score)}{_clusters(score)}{_pooled(score)}"


def rule(found: Score) -> str:
    """What decides."""
    if found.ci is None:
        return _UNDECIDED if found.suite is None else found.reasons.get("ci", _UNDECIDED)
    if found.suite is not None:
        told = _SUITE_RULES[found.suite.estimand]
        return told + (_THRESHOLD if found.against is not None else "")
    told = _RULES[found.ci.method]
    if found.clusters is not None and found.df is not None and found.ci.method != "korn-graubard":
        told += f" It has {found.df:.1f} degrees of freedom."
    return told + (_THRESHOLD if found.against is not None else "")


def next_step(score: Score) -> str:
    """What to do now."""
    lock = "to claim it, lock a plan and run fresh items"
    short = (
        [] if score.slices is None else [result.name for result in score.slices.results if result.shown_short]
    )
    if short and score.outcome != "falls_short":
        names = listed(short, len(short), NAMED)
        return (
            f"Look at the items of slice{'' if len(short) == 1 else 's'} {names}, which fall short; {lock}."
        )
    if "outcome" in score.reasons:
        return "Run what has no result; --missing fail counts what is missing as the worst outcome."
    if score.outcome == "meets":
        return f"It is enough if the items are the ones that matter; {lock}."
    if score.outcome == "falls_short":
        return "It is not enough: look at the items that are wrong."
    if score.outcome == "estimate":
        return (
            "Report the mean with this interval and its name; --at-least says whether it is enough, and `forelock "
            "gate` whether another system is better."
        )
    if score.against is not None and (more := score.against.more) is not None:
        return (
            f"Plan about {rounded_up(more.total)} {more.unit} and decide once; adding items until the answer is liked "
            "errs far more often than the level says."
        )
    attainable = None if score.against is None else score.against.attainable
    if attainable is not None and attainable.least_units > _units(score):
        return f"Plan {rounded_up(attainable.least_units)} {attainable.unit} or more: fewer cannot show it at all."
    heavy = None if score.suite is None else heaviest(score.suite)
    if heavy is not None:
        return (
            f"Add items to {heavy[0]} first, whose error is {heavy[1]:.0%} of the suite's variance; decide once, on "
            "items that were planned."
        )
    return "More items of other kinds would tell; these leave it open."


def _units(found: Score) -> int:
    return found.n if found.clusters is None else found.clusters.n_clusters


def _open(score: Score) -> str:
    if "outcome" in score.reasons:
        return f"the interval alone would tell, but {score.reasons['outcome']}"
    against = score.against
    if score.ci is None or against is None:
        return score.reasons.get("ci", "the data decide nothing")
    told = f"the interval holds {_show(score, against.threshold)}"
    best = against.attainable
    if best is not None and _beyond(score, best.bound, against.threshold):
        units = f"{_units(score)} {best.unit}"
        told += f", and {units} could not show it even if all were right: that takes {rounded_up(best.least_units)}"
    return told


def _beyond(score: Score, bound: float, threshold: float) -> bool:
    """Whether even the best data would not reach the threshold."""
    return bound < threshold if score.prefers == "higher" else bound > threshold


def _more(score: Score) -> str:
    more = None if score.against is None else score.against.more
    if more is None:
        return ""
    claim = "show that it is" if more.claim == "meets" else "show that it is not"
    unit = more.unit.removesuffix("s") if more.more == 1 else more.unit
    return (
        f" About {rounded_up(more.more)} more {unit} would {claim} with {level_text(more.power)} power if the mean "
        "seen is the true one (no promise)."
    )


def _clusters(found: Score) -> str:
    """What clusters cost: the interval that independent items would have, and why it is not to be had."""
    clusters = found.clusters
    if clusters is None or clusters.independent is None or clusters.design_effect is None:
        return ""
    flat = _interval(found, clusters.independent).removeprefix(
        f"{level_text(clusters.independent.level)} interval "
    )
    if clusters.design_effect <= 1 or clusters.effective_n is None:
        return f" If the items were independent it would be {flat}; these clusters are no more alike than chance."
    return (
        f" It is not {flat}, as {found.n} independent items would give: items of one cluster are alike (design effect "
        f"{clusters.design_effect:.1f}), so they tell as much as {clusters.effective_n:.0f}."
    )


def _pooled(found: Score) -> str:
    """What is not the suite's mean, though it is often printed under its name."""
    if found.suite is None:
        return ""
    return (
        f" Over all items alike, which is another quantity, it is {_show(found, found.suite.item_weighted)}."
    )


def _runs(found: Score) -> str:
    """The other estimand, where there are runs."""
    ci = None if found.these_items is None else found.these_items.ci
    if ci is None:
        return ""
    return f" For these items alone, whose runs vary and nothing else: {_interval(found, ci)}."


def _interval(score: Score, ci: Interval | None) -> str:
    if ci is None or ci.low is None or ci.high is None:
        return "no interval"
    return f"{level_text(ci.level)} interval {_show(score, ci.low)} to {_show(score, ci.high)}"


def _size(score: Score) -> str:
    items = _count(score.n, "item")
    if score.n_values > score.n:
        items += f", {score.n_values} runs"
    if score.suite is not None:
        items += f" of {_count(score.suite.n_tasks, 'task')}"
    return items if score.clusters is None else f"{items} in {_count(score.clusters.n_clusters, 'cluster')}"


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}{'' if n == 1 else 's'}"


def _show(score: Score, value: float | None) -> str:
    """A mean: `43.7%` of shares, score units else."""
    if value is None:
        return "no value"
    return f"{100 * value:.{_digits(score)}f}%" if score.points else f"{value:.4g}"


def _digits(found: Score) -> int:
    """As many as it takes to see on which side of the threshold a bound lies."""
    if found.against is None or found.ci is None:
        return 1
    bounds = [end for end in (found.ci.low, found.ci.high) if end is not None]
    apart = [abs(end - found.against.threshold) for end in bounds if end != found.against.threshold]
    return next((digits for digits in range(1, 6) if all(100 * each >= 10**-digits for each in apart)), 6)
