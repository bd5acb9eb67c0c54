"""Several tasks at once: their mean under weights, which of them lost, and whether any loses more than a margin."""

from __future__ import annotations

from service.kernels.pairs.mean_bounds import p_against_zero
from service.kernels.randomization.max_t import LISTED_UP_TO
from service.kernels.suites.joint import seconds
from service.kernels.suites.rare import LEAST_P
from service.stats.shared.data.clustering import NO_CLUSTERS
from service.stats.shared.data.pairs import apply_floor
from service.stats.shared.declaring.certainty import of_share
from service.stats.shared.declaring.common import Resampling
from service.stats.shared.declaring.registry import stat_test
from service.stats.suite.cautions import find_cautions
from service.stats.suite.in_plans import IN_PLANS
from service.stats.suite.records import SuiteAnalysis
from service.stats.suite.request import SuiteRequest
from service.stats.suite.sentence import write_sentence
from service.stats.suite.tasks import bound_every_task, compare_tasks, describe_task, judge_losses
from service.stats.suite.working import Working

ONE_ARM = "told of two arms"


def _estimate_cost(request: SuiteRequest) -> float:
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
    cost=_estimate_cost,
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
        reasons |= dict.fromkeys(("ci", "se", "df"), working.explain_no_bounds())
    else:
        ci, se, df = working.interval(bounds, working.tail), bounds.se * bounds.unit, bounds.df
    p, p_above, p_below = _test_mean(working, reasons, floors)
    losses, arms = judge_losses(working, reasons, floors)
    if request.clusters is None:
        reasons |= dict.fromkeys(("n_clusters", "tasks.n_clusters"), NO_CLUSTERS)
    tasks = tuple(describe_task(working, at, arms, reasons) for at in range(len(request.names)))
    unlike_tasks = compare_tasks(working, reasons, floors)
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
        every=bound_every_task(tasks, 1 - request.alpha, reasons),
        se=se,
        df=df,
        p_value=p,
        p_above=p_above,
        p_below=p_below,
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
        warnings=tuple(find_cautions(working)),
        resampling=Resampling.drawn(request.draws, request.first_seed) if drawn else Resampling(exact=True),
        sentence="",
    )
    return analysis.model_copy(update={"sentence": write_sentence(analysis)})


def _test_mean(
    working: Working, reasons: dict[str, str], floors: dict[str, str]
) -> tuple[float | None, float | None, float | None]:
    """Test the suite's mean against 0, where two arms are compared, and on both sides of a threshold that was given."""
    request, bounds, p = working.request, working.bounds, None
    if not request.paired:
        reasons |= dict.fromkeys(
            ("p_value", "baseline_mean", "candidate_mean", "losses", "tasks.arms"), ONE_ARM
        )
    elif bounds is None:
        reasons["p_value"] = reasons["ci"]
    else:
        p = apply_floor(p_against_zero(bounds), "p_value", floors, LEAST_P)
    if request.threshold is None or bounds is None:
        why = "no threshold was given" if request.threshold is None else reasons["ci"]
        reasons |= dict.fromkeys(("p_above", "p_below"), why)
        return p, None, None
    above, below = (
        apply_floor(ask(request.threshold), name, floors, LEAST_P)
        for name, ask in (("p_above", bounds.p_above), ("p_below", bounds.p_below))
    )
    return p, above, below
