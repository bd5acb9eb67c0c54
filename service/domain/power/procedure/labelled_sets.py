"""Simulated results of a judge with people's labels of some items: what is true is what people would say of all."""

from __future__ import annotations

import math

import numpy as np

from service.domain.plans.plan import MissingPolicy, Plan
from service.domain.plans.sections.labels import SUFFIX
from service.domain.power.procedure.data import Block, Floats, Side, World
from service.domain.rules.labelled import asks_labels
from service.domain.rules.settings import Setting
from service.kernels.planning.labelled_pairs import draw_signs, of_scores

AGREEMENTS = {"low": 0.8, "reference": 0.9, "high": 0.95}
"""How often a judge plausibly says what people say of an answer; of scores the correlation of its differences with
theirs."""


def label_budget(plan: Plan, setting: Setting) -> int | None:
    """Return how many items people label; None where no test of the hypothesis takes labels."""
    audit = plan.endpoint(setting.hypothesis.endpoint + SUFFIX)
    if audit is None or audit.labels is None or not asks_labels(setting):
        return None
    return audit.labels.n


def label_budgets(labels: int, most: int) -> list[int]:
    """List numbers of labels from a quarter of those planned to four times as many, doubling; at most `most`."""
    return sorted({min(max(labels * quarters // 4, 2), most) for quarters in (1, 2, 4, 8, 16)})


def draw_labelled(
    generator: np.random.Generator,
    n_sets: int,
    n: int,
    labels: int,
    world: World,
    *,
    policy: MissingPolicy | None,
    people: Floats | None = None,
) -> Block:
    """Draw n independent items, some of them labelled by people. Under `exclude_pair` all sets lack the same.

    `people`: their differences of scores (T, n) where they are drawn already; None: right and wrong are drawn here.
    """
    agreement = AGREEMENTS["reference"] if world.agreement is None else world.agreement
    # A search may look at fewer items than are to be labelled: the judge keeps two.
    labelled = min(labels, max(n - 2, 2))
    others = n - labelled
    if world.complete < 1 and policy == "exclude_pair":
        labelled, others = (int(generator.binomial(items, world.complete)) for items in (labelled, others))
    labelled, others = max(labelled, 2), max(others, 2)
    if people is None:
        sets, won, lost = draw_signs(generator, n_sets, labelled, others, world.shares(), agreement)
        side = Side((won - lost).astype(np.float64), (won, lost), labelled=sets)
        sizes = np.array([labelled + others], dtype=np.int64)
        return Block(sizes, side, side, np.arange(1))
    people = (
        people[:, : labelled + others] if n >= labelled + others else np.zeros((n_sets, labelled + others))
    )
    # The judge's difference is people's and an error of its own, so that the two correlate as they agree.
    error = world.scale * math.sqrt(1 / agreement**2 - 1)
    judge = people + generator.standard_normal(people.shape) * error
    sets = of_scores(people[:, :labelled], judge)
    side = Side(judge, None, labelled=sets)
    return Block(np.ones(judge.shape[1], dtype=np.int64), side, side, np.arange(judge.shape[1]))


def with_budget(plan: Plan, endpoint_id: str, n: int) -> Plan:
    """Return the plan with so many items for people to label of what an endpoint's judge scores."""
    endpoints = tuple(
        endpoint.model_copy(update={"labels": endpoint.labels.model_copy(update={"n": n})})
        if endpoint.id == endpoint_id + SUFFIX and endpoint.labels is not None
        else endpoint
        for endpoint in plan.endpoints or ()
    )
    return plan.model_copy(update={"endpoints": endpoints})
