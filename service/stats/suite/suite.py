"""Several tasks at once: their mean under weights, which of them lost, and whether any loses more than a margin."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import special

from service.kernels.randomization.max_t import LISTED_UP_TO
from service.kernels.suites.heterogeneity import NewTasks, new_tasks, unlike
from service.kernels.suites.joint import Joint, joint, seconds
from service.kernels.suites.rare import LEAST_P, Bounds, NewTaskBounds, SuiteBounds
from service.stats.shared.data.clustering import LEAST_DF, LOW_DF, NO_CLUSTERS, cluster_warnings
from service.stats.shared.data.pairs import floored
from service.stats.shared.declaring.certainty import of_share
from service.stats.shared.declaring.common import Interval, Resampling, StatWarning
from service.stats.shared.declaring.registry import stat_test
from service.stats.shared.declaring.sentences import difference_of, level_text, p_text
from service.stats.shared.declaring.warnings import define
from service.stats.shared.methods.slice_records import Standing
from service.stats.shared.methods.slicing import overall, standings
from service.stats.shared.methods.suites import Heterogeneity, Losses, NoneLoses, SuiteTask, TaskArms
from service.stats.shared.methods.weighing import Weighed, find_seen_ends
from service.stats.suite.in_plans import IN_PLANS
from service.stats.suite.records import SuiteAnalysis
from service.stats.suite.request import SuiteRequest
from service.words import Value, listed, message, speak

FEW_TASKS_OF_A_SAMPLE = 10  # fewer hardly tell their spread, and so the error over new ones
NAMED = 3
ONE_ARM = "told of two arms"

FEW_TASKS = define(
    "FEW_TASKS",
    "caution",
    "Higgins, Thompson & Spiegelhalter (2009), J R Stat Soc A 172:137",
)
TASK_IN_ONE_CLUSTER = define(
    "TASK_IN_ONE_CLUSTER",
    "serious",
    "Bell & McCaffrey (2002), Surv Methodol 28:169",
)
TASK_ALIKE = define(
    "TASK_ALIKE",
    "info",
    "Fay & Feuer (1997), Stat Med 16:791",
)
TASK_RANGES_UNKNOWN = define(
    "TASK_RANGES_UNKNOWN",
    "caution",
    "Gaffke (2005), Math Methods Statist 14:451",
)
TASK_UNIT_TAKEN = define(
    "TASK_UNIT_TAKEN",
    "info",
)
TASK_SCALES = define(
    "TASK_SCALES",
    "caution",
    "Nardo et al. (2008), Handbook on Constructing Composite Indicators, OECD, step 5",
)
SPREAD_APART = 20.0
"""How many times as far one task's scores spread before it is said."""


@dataclass(frozen=True, eq=False)
class Working:
    """A request with what is computed of it."""

    request: SuiteRequest

    @cached_property
    def weighed(self) -> Weighed:
        """The mean and the tasks."""
        request = self.request
        seen = find_seen_ends(request.design.tasks, list(request.arms.values()))
        exact = request.right_or_wrong
        return Weighed(
            request.design, request.column, request.share, *request.ends, request.paired, seen, exact
        )

    @cached_property
    def tail(self) -> float:
        """The chance of error left to each direction, half of alpha."""
        return self.request.alpha / 2

    @cached_property
    def sample(self) -> NewTasks | None:
        """The error where tasks are a sample; None where they are not, or are too few or alike."""
        if self.request.estimand == "these_tasks" or self.request.design.n_tasks < 2:
            return None
        sample = new_tasks(self.weighed.means / self.weighed.unit, self.request.share)
        return self._tied(sample) if sample.se > 1e-12 else None

    def _tied(self, sample: NewTasks) -> NewTasks:
        """The sample with the error that clusters put on all tasks alike, of which the tasks' spread knows nothing.

        Satterthwaite over both parts: the tasks' spread, and the mean covariance of two tasks.
        """
        weighed, share, design = self.weighed, self.request.share, self.request.design
        if not design.spanning:
            return sample
        apart = float(share @ share)
        common = max((weighed.variance - float(share**2 @ weighed.variances)) / (1 - apart), 0.0)
        if common <= 0:
            return sample
        # in parts of their sum, so that squares stay in range
        variance = sample.se**2 + common
        spread, tied = sample.se**2 / variance, common / variance
        return replace(
            sample, se=math.sqrt(variance), df=1 / (spread**2 / sample.df + tied**2 / max(weighed.df, 1e-3))
        )

    @cached_property
    def bounds(self) -> Bounds | None:
        """Bounds of the suite's mean, for the estimand asked for."""
        if self.request.estimand == "these_tasks":
            return self.weighed.bounds
        if self.sample is None:
            return None
        weighed, unit = self.weighed, self.weighed.unit
        least, greatest = weighed.task_span
        tasks = SuiteBounds(
            weighed.mean / unit, self.sample.se, self.sample.df, least=least, greatest=greatest, unit=unit
        )
        return NewTaskBounds.of(tasks, weighed.bounds)

    @cached_property
    def joint(self) -> Joint:
        """The law of all tasks at once."""
        return joint(self.request.design, self.weighed.scaled, self.request.first_seed, self.request.draws)

    @cached_property
    def critical(self) -> float:
        """The critical value of the simultaneous intervals at the level asked for."""
        return self.joint.critical(self.request.alpha)

    def interval(self, bounds: Bounds, tail: float) -> Interval:
        """Two-sided, at 1 - alpha."""
        low, high = bounds.ends(tail)
        return Interval(low=low, high=high, level=1 - self.request.alpha, method=bounds.method)


def _cost(request: SuiteRequest) -> float:
    n, tasks = len(request.tasks), len(request.names)
    return 0.004 + 3e-6 * n + 0.004 * tasks + 1.5 * seconds(request.design, request.draws)


@stat_test(
    name="suite",
    version=1,
    title="Suite of tasks (weighted mean, every task, who lost)",
    asked="several",
    example={
        "tasks": [*["code"] * 12, *["maths"] * 6],
        "baseline": [1, 1, 0, 1, 0, 1, 1, 0, 1, 0, 1, 1, 0, 1, 0, 0, 1, 0],
        "candidate": [1, 1, 0, 1, 0, 1, 0, 0, 1, 0, 1, 1, 1, 1, 0, 1, 1, 0],
    },
    cost=_cost,
    plan=IN_PLANS,
    serves=frozenset({"weighted"}),
)
def suite(request: SuiteRequest) -> SuiteAnalysis:
    """Estimate the mean of several tasks under weights, and tell which tasks lost.

    The suite's mean is the sum of w_t times the mean of task t, of one arm's outcomes or of two arms' differences. By
    default the tasks are the ones that matter and their items (or clusters of them, which may span tasks) are a sample.
    H0 of `p_value`: the suite's mean difference is 0. H0 of a task's `p_lost`: its difference is not below 0.

    Returns:
        ci: each end the further of Student's t with CR2 and Satterthwaite's degrees of freedom, and of bounds that know
            of losses too rare to have been seen (gamma, one more event of the largest weight), within what the task's
            scores were seen to span where no range is known. `new_tasks`: the further of
            these and of t on the tasks' values, where clusters span tasks with the error that they put on all alike.
        every: between what all tasks lie, by the outermost ends of their own intervals (intersection-union).
        item_weighted: the mean over items whatever their task, which is another quantity.
        tasks: each with an interval of its own and one of all at once (max-T, clusters keep their sign over tasks). Of
            one arm, right or wrong, in independent items these are exact (Clopper and Pearson), as of a task alone.
        losses: tasks that lost or gained, stepwise over all tasks; whether no task loses more than the margin.
        heterogeneity: Cochran's Q, I^2, tau, and the prediction interval of another task.

    Raises:
        InvalidData: no item, columns of different length, a single cluster, more than 500 tasks, a weight or a scale of
            a task that there is not, weights that lack a task, one arm and two at once, or scores outside the range.

    Edge cases:
        A task in one cluster, or of one item: no interval of it nor of the suite, TASK_IN_ONE_CLUSTER.
        A task in which nothing varies: bounded by its range, TASK_ALIKE; heterogeneity is null.
        No range known: what was seen of the task stands for it, of a task all alike what was seen of all tasks, and t
            has a say, TASK_RANGES_UNKNOWN; a task in which then nothing varies has no interval, nor has the suite where
            none varies.
        One task: the suite is that task; heterogeneity and `new_tasks` are null.
        Scales that lie far apart: TASK_SCALES.
        Few tasks under `new_tasks`: FEW_TASKS; few clusters: FEW_CLUSTERS or CAUTION; few degrees of freedom: LOW_DF.

    Sources:
        Bell & McCaffrey (2002), Surv Methodol 28:169. Welch (1947), Biometrika 34:28.
        Fay & Feuer (1997), Stat Med 16:791. Zou & Donner (2008), Stat Med 27:1693.
        Romano & Wolf (2005), JASA 100:94. Sidak (1967), JASA 62:626. Berger (1982), Technometrics 24:295.
        Clopper & Pearson (1934), Biometrika 26:404.
        Cochran (1954), Biometrics 10:101. Higgins, Thompson & Spiegelhalter (2009), J R Stat Soc A 172:137.

    Example:
        Differences of -2.5, +8 and +20 pp on 1000, 100 and 50 items: the suite's is +8.5 pp, where the item-weighted
        mean is -.61 pp.
    """
    working = Working(request)
    weighed, bounds = working.weighed, working.bounds
    reasons: dict[str, str] = {}
    floors: dict[str, str] = {}
    ci, se, df = None, None, None
    if bounds is None:
        reasons |= dict.fromkeys(("ci", "se", "df"), _why_unbounded(working))
    else:
        ci, se, df = working.interval(bounds, working.tail), bounds.se * bounds.unit, bounds.df
    p = None
    if not request.paired:
        reasons |= dict.fromkeys(
            ("p_value", "baseline_mean", "candidate_mean", "losses", "tasks.arms"), ONE_ARM
        )
    elif bounds is None:
        reasons["p_value"] = reasons["ci"]
    else:
        p = floored(min(1.0, 2 * min(bounds.p_above(0.0), bounds.p_below(0.0))), "p_value", floors, LEAST_P)
    sides: list[float | None] = [None, None]
    if request.threshold is None or bounds is None:
        why = "no threshold was given" if request.threshold is None else reasons["ci"]
        reasons |= dict.fromkeys(("p_above", "p_below"), why)
    else:
        sides = [
            floored(ask(request.threshold), name, floors, LEAST_P)
            for name, ask in (("p_above", bounds.p_above), ("p_below", bounds.p_below))
        ]
    losses, arms = _losses(working, reasons, floors)
    if request.clusters is None:
        reasons |= dict.fromkeys(("n_clusters", "tasks.n_clusters"), NO_CLUSTERS)
    tasks = tuple(_task(working, at, arms, reasons) for at in range(len(request.names)))
    unlike_tasks = _heterogeneity(working, reasons, floors)
    drawn = working.joint.signed is not None and request.design.n_units > LISTED_UP_TO
    within = {}
    if drawn and unlike_tasks is not None and unlike_tasks.p_value is not None:
        within["heterogeneity.p_value"] = of_share(unlike_tasks.p_value, request.draws)
    means = {
        name: float(request.share @ request.design.means(column)) for name, column in request.arms.items()
    }
    analysis = SuiteAnalysis(
        estimate=weighed.mean,
        ci=ci,
        every=_every(tasks, 1 - request.alpha, reasons),
        se=se,
        df=df,
        p_value=p,
        p_above=sides[0],
        p_below=sides[1],
        item_weighted=weighed.item_weighted,
        baseline_mean=means.get("baseline"),
        candidate_mean=means.get("candidate"),
        tasks=tasks,
        losses=losses,
        heterogeneity=unlike_tasks,
        critical_value=working.critical,
        estimand=request.estimand,
        paired=request.paired,
        binary=request.points,
        n=len(request.tasks),
        n_tasks=len(request.names),
        n_clusters=None if request.clusters is None else request.design.n_units,
        n_spanning=request.design.spanning if request.clusters is not None else 0,
        reasons=reasons,
        bounds=floors,
        within=within,
        warnings=tuple(_warnings(working)),
        resampling=Resampling.drawn(request.draws, request.first_seed) if drawn else Resampling(exact=True),
        sentence="",
    )
    return analysis.model_copy(update={"sentence": _sentence(analysis)})


def _why_unbounded(working: Working) -> str:
    request, weighed = working.request, working.weighed
    if request.estimand == "new_tasks":
        if len(request.names) < 2:
            return "a single task says nothing of others like it"
        return "the tasks' values are all the same, so their spread measures nothing"
    if weighed.lone:
        return f"task '{request.names[weighed.lone[0]]}' lies in a single cluster or has a single item"
    return "nothing varies, and no range is known of the scores"


def _losses(
    working: Working, reasons: dict[str, str], floors: dict[str, str]
) -> tuple[Losses | None, list[TaskArms | None]]:
    """Which tasks lost and gained, over all of them, and where each stands against the margin."""
    request, weighed, tail = working.request, working.weighed, working.tail
    names = request.names
    if not request.paired:
        return None, [None] * len(names)
    bounds = weighed.task_bounds
    lost, gained = (
        working.joint.adjusted(
            np.array(
                [
                    1.0 if bound is None else (bound.p_below(0.0) if side else bound.p_above(0.0))
                    for bound in bounds
                ]
            )
        )
        for side in (1, 0)
    )
    margin = None if request.margin is None else float(request.margin.for_endpoint(binary=request.points))
    places: list[tuple[Standing, float | None, float | None]] = []
    none_loses = None
    if margin is None:
        reasons |= dict.fromkeys(("losses.none_loses", "tasks.arms.standing"), "no margin was given")
    else:
        p = [None if bound is None else bound.p_above(-margin) for bound in bounds]
        p_loss = [None if bound is None else bound.p_below(-margin) for bound in bounds]
        places = list(standings(p, p_loss, tail))
        known = [value for value in p if value is not None]
        worst = max(known) if len(known) == len(p) else None
        if worst is None:
            reasons["losses.none_loses.p_value"] = "some task has no interval"
        none_loses = NoneLoses(
            margin=margin,
            outcome=overall([standing for standing, _, _ in standings(p, p_loss, tail)]),
            p_value=floored(worst, "losses.none_loses.p_value", floors, LEAST_P),
        )
    before, after = (request.design.means(request.arms[name]) for name in ("baseline", "candidate"))
    arms = [
        TaskArms(
            baseline_mean=float(before[at]),
            candidate_mean=float(after[at]),
            p_lost=floored(float(lost[at]), f"tasks.{at}.arms.p_lost", floors, LEAST_P),
            p_gained=floored(float(gained[at]), f"tasks.{at}.arms.p_gained", floors, LEAST_P),
            lost=bool(lost[at] < tail),
            gained=bool(gained[at] < tail),
            standing=places[at][0] if places else None,
        )
        for at in range(len(names))
    ]
    behind = tuple(name for name, one in zip(names, arms, strict=True) if one.lost)
    ahead = tuple(name for name, one in zip(names, arms, strict=True) if one.gained)
    return Losses(lost=behind, gained=ahead, none_loses=none_loses), [*arms]


def _task(working: Working, at: int, arms: list[TaskArms | None], reasons: dict[str, str]) -> SuiteTask:
    request, weighed = working.request, working.weighed
    bounds = weighed.task_bounds[at]
    own = simultaneous = None
    if bounds is None:
        why = "a single cluster or item says nothing of others"
        why = why if at in weighed.lone else "nothing varies, and no range is known of the scores"
        reasons |= {f"tasks.{at}.{name}": why for name in ("se", "df", "ci", "simultaneous")}
    else:
        level = 1 - request.alpha
        own, simultaneous = (
            Interval(low=low, high=high, level=level, method=bounds.method)
            for low, high in (bounds.ends(working.tail), bounds.ends(float(special.ndtr(-working.critical))))
        )
    return SuiteTask(
        name=request.names[at],
        weight=float(request.share[at]),
        n=int(request.design.items[at]),
        n_clusters=None if request.clusters is None else int(request.design.units_of_task[at]),
        estimate=float(weighed.means[at]),
        se=None if bounds is None else bounds.se * bounds.unit,
        df=None if bounds is None else bounds.df,
        ci=own,
        simultaneous=simultaneous,
        arms=arms[at],
    )


def _every(tasks: tuple[SuiteTask, ...], level: float, reasons: dict[str, str]) -> Interval | None:
    """Between what all tasks lie. It misses below only where the interval of the least task does, and so above."""
    known = [task.ci for task in tasks if task.ci is not None]
    lows = [interval.low for interval in known if interval.low is not None]
    highs = [interval.high for interval in known if interval.high is not None]
    if len(lows) < len(tasks) or len(highs) < len(tasks):
        reasons["every"] = "some task has no interval"
        return None
    return Interval(low=min(lows), high=max(highs), level=level, method="intersection_union")


def _heterogeneity(working: Working, reasons: dict[str, str], floors: dict[str, str]) -> Heterogeneity | None:
    request, weighed = working.request, working.weighed
    if len(request.names) < 2 or weighed.lone or not np.all(weighed.variances > 0):
        why = (
            "there is a single task"
            if len(request.names) < 2
            else "some task has no error to be compared with"
        )
        reasons["heterogeneity"] = why
        return None
    unit, design = weighed.unit, request.design
    unlike_tasks = unlike(
        weighed.means / unit, design.covariances(weighed.scores), design.task_df, working.joint.signed
    )
    if unlike_tasks is None:
        reasons["heterogeneity"] = "some task has no error to be compared with"
        return None
    if unlike_tasks.p is None:
        reasons["heterogeneity.p_value"] = (
            "clusters span tasks, and there are too many of both to draw their signs"
        )
    ends = unlike_tasks.prediction(1 - request.alpha)
    low, high = request.ends[0] / unit, request.ends[1] / unit
    if ends is not None and np.isfinite(low).all():  # no task's true value lies beyond what its scores can be
        least, most = float(low.min()), float(high.max())
        reach = (least - most, most - least) if request.paired else (least, most)
        ends = max(ends[0], reach[0]), min(ends[1], reach[1])
    if ends is None:
        reasons["heterogeneity.prediction"] = "two tasks say nothing of how far tasks spread"
    return Heterogeneity(
        q=unlike_tasks.q,
        df=unlike_tasks.df,
        p_value=floored(unlike_tasks.p, "heterogeneity.p_value", floors),
        i2=unlike_tasks.i2,
        tau=float(np.sqrt(unlike_tasks.tau2)) * unit,
        prediction=None
        if ends is None
        else Interval(low=ends[0] * unit, high=ends[1] * unit, level=1 - request.alpha, method="prediction"),
    )


def _warnings(working: Working) -> Iterator[StatWarning]:
    request, weighed = working.request, working.weighed
    names, count = request.names, len(request.names)

    def named(places: list[int]) -> dict[str, Value]:
        more = ", ..." if len(places) > NAMED else ""
        quoted = ", ".join(f"'{names[place]}'" for place in places[:NAMED])
        return {"count": len(places), "n_tasks": count, "names": quoted + more}

    if request.estimand == "new_tasks":
        if 2 <= count < FEW_TASKS_OF_A_SAMPLE:
            yield FEW_TASKS(n_tasks=count)
    elif weighed.lone:
        yield TASK_IN_ONE_CLUSTER(**named(weighed.lone))
    unknown = np.flatnonzero(np.isnan(request.ends[0])).tolist()
    if unknown and request.estimand == "these_tasks":
        yield TASK_RANGES_UNKNOWN(**named(unknown))
    elif request.unit_taken:
        yield TASK_UNIT_TAKEN()
    still = [at for at in range(count) if weighed.variances[at] <= 0 and at not in weighed.lone]
    if still:
        yield TASK_ALIKE(**named(still))
    spread = np.sqrt(weighed.spread)
    wide, known = int(np.argmax(spread)), np.flatnonzero(spread > 0)
    if len(known) > 1 and not request.points:
        narrow = int(known[np.argmin(spread[known])])
        times = float(spread[wide] / spread[narrow])
        if times > SPREAD_APART and times < np.inf:
            yield TASK_SCALES(wide=names[wide], narrow=names[narrow], times=times)
    if request.clusters is not None:
        yield from cluster_warnings(np.bincount(request.design.units).astype(np.float64))
    bounds = working.bounds
    if bounds is not None and request.estimand == "these_tasks" and bounds.se > 0 and bounds.df < LEAST_DF:
        yield LOW_DF(df=bounds.df)


def _sentence(analysis: SuiteAnalysis) -> str:
    """The suite's mean, what the item-weighted one would have said, and which tasks lost."""

    def show(value: float) -> Value:
        if analysis.paired:
            return difference_of(value, binary=analysis.binary)
        return f"{100 * value:.1f}%" if analysis.binary else f"{value:.4g}"

    interval = message("analyses.no_interval")
    if analysis.ci is not None and analysis.ci.low is not None and analysis.ci.high is not None:
        level = level_text(analysis.ci.level)
        interval = message("analyses.ci", level=level, low=show(analysis.ci.low), high=show(analysis.ci.high))
    parts: dict[str, Value] = dict.fromkeys(("chance", "lost", "gained", "none"), "")
    if analysis.losses is not None:
        if analysis.p_value is not None:
            p = p_text(analysis.p_value, analysis.bounds.get("p_value"))
            parts["chance"] = message("analyses.suite_chance", p=p)
        for names, word in ((analysis.losses.lost, "lost"), (analysis.losses.gained, "gained")):
            if names:
                more = message("analyses.and_more") if len(names) > NAMED else ""
                quoted = listed(
                    (message("analyses.task", name=name) for name in names[:NAMED]), "lists.comma"
                )
                parts[word] = message(f"analyses.suite_{word}", names=quoted, more=more)
        if not analysis.losses.lost:
            parts["none"] = message("analyses.suite_none_lost")
    return speak(
        "analyses.suite_of_two" if analysis.paired else "analyses.suite_of_one",
        tasks=analysis.n_tasks,
        estimate=show(analysis.estimate),
        interval=interval,
        n=analysis.n,
        pooled=show(analysis.item_weighted),
        **parts,
    )
