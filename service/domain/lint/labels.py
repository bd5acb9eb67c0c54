"""Lint of labels by people: what is drawn, whose judge they correct, and which rules can rest on them."""

from __future__ import annotations

from collections.abc import Iterator

from service.domain.plans.findings import Finding, error, warning
from service.domain.plans.plan import Plan
from service.domain.plans.sections.endpoint import Endpoint
from service.domain.plans.sections.labels import SUFFIX
from service.domain.rules.labelled import asks_labels
from service.domain.rules.settings import Setting
from service.words import say

FEWEST = 30
"""Labelled items below which an interval is rough (Angelopoulos, Duchi & Zrnic 2023, arXiv:2311.01453)."""


def label_findings(plan: Plan) -> Iterator[Finding]:
    """Yield findings of draws of items for people's labels that correct nobody, or leave nothing to correct."""
    for index, endpoint in enumerate(plan.endpoints or ()):
        if endpoint.labels is None:
            continue
        path = f"endpoints[{index}]"
        judged = plan.endpoint(endpoint.id.removesuffix(SUFFIX)) if endpoint.id.endswith(SUFFIX) else None
        if judged is None:
            yield error("LABELS", f"{path}.labels", say("findings.labels_of_nothing", name=endpoint.id))
            continue
        yield from _check_draw(plan, endpoint, judged, path)
        yield from _check_judge(plan, judged)
        yield from _check_policies(plan, path)


def _check_draw(plan: Plan, endpoint: Endpoint, judged: Endpoint, path: str) -> Iterator[Finding]:
    """Errors and warnings of a draw of items for people's labels: of items without a judge, of all items, or of few."""
    draw = endpoint.labels
    assert draw is not None  # noqa: S101 - callers look
    for population in plan.populations or ():
        if not endpoint.measured_on(population.id):
            continue
        if not judged.measured_on(population.id):
            yield error(
                "LABELS",
                f"{path}.populations",
                say("findings.labels_elsewhere", name=judged.id, population=population.id),
            )
        elif draw.n > population.n - 2:
            yield error(
                "LABELS",
                f"{path}.labels.n",
                say("findings.labels_of_all", n=draw.n, items=population.n, population=population.id),
            )
    if draw.n < FEWEST:
        yield warning("LABEL_BUDGET", f"{path}.labels.n", say("findings.few_labels", n=draw.n, least=FEWEST))


def _check_judge(plan: Plan, judged: Endpoint) -> Iterator[Finding]:
    """Yield errors and warnings of a judged endpoint that does not say which judge it has."""
    path = f"endpoints[{(plan.endpoints or ()).index(judged)}].judge"
    if judged.judge is None:
        yield error("LABELS", path, say("findings.labels_without_judge", name=judged.id))
        return
    lacks = [name for name in ("version", "prompt_sha256") if getattr(judged.judge, name) is None]
    if lacks:
        yield warning(
            "JUDGE_UNDESCRIBED",
            path,
            say("findings.judge_undescribed", name=judged.id, lacks=", ".join(lacks)),
        )


def _check_policies(plan: Plan, path: str) -> Iterator[Finding]:
    """Yield errors of looks and of worst cases for missing results, which no draw of items for labels goes with."""
    if plan.stopping is not None and plan.stopping.kind != "fixed_n":
        yield error("LABELS", f"{path}.labels", say("findings.labels_at_looks"))
    if plan.missing == "worst_case":
        yield error("LABELS", f"{path}.labels", say("findings.labels_worst_case"))


def label_use_findings(setting: Setting) -> Iterator[Finding]:
    """Yield errors of a hypothesis, or a test of its rule, that rests on the labelled items alone."""
    endpoint = setting.endpoint
    if endpoint is not None and endpoint.labels is not None:
        yield error("LABELS", f"{setting.path}.endpoint", say("findings.labels_alone", name=endpoint.id))
    if setting.suite is not None and asks_labels(setting):
        yield error("LABELS", f"{setting.path}.rule", say("findings.labels_of_suite"))
    yield from _check_one_arm(setting)
    for use in setting.uses.values():
        if use.beside and use.endpoint is not None and use.endpoint.labels is not None:
            yield error(
                "LABELS", f"tests[{use.index}].endpoint", say("findings.labels_alone", name=use.endpoint.id)
            )


def _check_one_arm(setting: Setting) -> Iterator[Finding]:
    """Yield errors of one arm whose judge is corrected: only a share of independent items has ends known to hold."""
    endpoint, population = setting.endpoint, setting.population
    if setting.reference is None or endpoint is None or population is None or not asks_labels(setting):
        return
    if endpoint.kind != "binary":
        yield error("LABELS", f"{setting.path}.rule", say("findings.labels_of_one_score", name=endpoint.id))
    elif population.clusters is not None:
        message = say("findings.labels_of_one_clustered", population=population.id)
        yield error("LABELS", f"{setting.path}.rule", message)
