"""What can be done where a rule could not be decided: draw more, ask for less, or use a test that such data define."""

from __future__ import annotations

from service.domain.plans.plan import Plan
from service.domain.verdicts.records import HypothesisVerdict
from service.stats.shared.declaring import registry
from service.stats.shared.declaring.certainty import DRAWN

KNOWN_AS = "known only as "


def open_step(plan: Plan, found: HypothesisVerdict) -> tuple[str, str]:
    """The step after a rule whose clauses are unknown, in English and Chinese."""
    why = {each.reason or "" for each in found.clauses if each.holds is None}
    if why == {DRAWN}:
        return (
            "Next: a number that was drawn is too near its threshold. In a new plan give its test more `n_resamples` "
            "(up to 1,000,000), or name a test that draws nothing.",
            "下一步:抽样得到的数离阈值太近。请在新计划中为该检验指定更多的 `n_resamples`"
            "(至多 1,000,000),或指定无需抽样的检验。",
        )
    if why and all(each.startswith(KNOWN_AS) for each in why):
        return (
            "Next: a p-value is told as a bound above its threshold. In a new plan ask for a threshold above that "
            "bound, or name an exact test.",
            "下一步:p 值只以高于阈值的界给出。请在新计划中采用高于该界的阈值,或指定精确检验。",
        )
    test = defined_test(plan, found)
    if test is None:
        return (
            "Next: the rule needs what these data do not define, and no test of this claim is defined for all such "
            "data. Look whether the results are right, and register the next run on items that differ more.",
            "下一步:规则所需的量在这些数据上没有定义,且此主张的检验都未必对此类数据有定义。请检查结果是否正确,"
            "并为下一次运行登记差别更大的题目。",
        )
    return (
        "Next: the rule needs what these data do not define, so how many items would do cannot be said from them. In a "
        f"new plan ask {test}, which is defined for such data.",
        f"下一步:规则所需的量在这些数据上没有定义,因此无法据此说明需要多少题目。"
        f"请在新计划中使用 {test},它对此类数据有定义。",
    )


def defined_test(plan: Plan, found: HypothesisVerdict) -> str | None:
    """A test of such a claim that is defined although nothing varies, or differences are few; None: there is none."""
    population, endpoint = plan.population(found.population), plan.endpoint(found.endpoint)
    if population is None or endpoint is None:
        return None
    clustered = population.clusters is not None
    in_order = plan.stopping is not None and plan.stopping.kind != "fixed_n"
    purpose = "difference" if found.claim == "superiority" else "equivalence"
    for name, test in registry.latest().items():
        use = test.plan
        if use is None or use.resort is None or use.purpose != purpose or (use.ordered is None) == in_order:
            continue
        if use.resort.serves(endpoint.collapsed_kind, clustered=clustered):
            return f"`{name}`" + ("" if use.resort.method is None else f" (`{use.resort.method}`)")
    return None
