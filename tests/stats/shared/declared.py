"""Tests that plans may use, with their requests."""

from __future__ import annotations

import math
from itertools import product
from typing import Any, get_args, get_origin

import numpy as np

from service.domain.rules.feeding import shape_column
from service.domain.rules.fields import choices
from service.domain.rules.labelled import labelled_columns
from service.stats.shared.declaring import registry
from tests.stats.cases import cases_of

IN_PLANS = [test for test in registry.every() if test.plan is not None]
OF_TWO_ARMS = [test for test in IN_PLANS if test.plan.arms == 2 and not test.plan.labels]
"""Those whose fields speak of the observed difference."""


def fields(test):
    """Paths of all numbers, intervals and truths, those under names of a dictionary included."""
    for dotted in choices(test.analysis):
        yield tuple(dotted.split("."))
    for name, info in test.analysis.model_fields.items():
        if get_origin(info.annotation) is dict and not info.exclude:
            key, _ = get_args(info.annotation)
            yield from ((name, each) for each in get_args(key))


N = 24


def worlds(kind):
    """Pairs of arms: identical, one-sided, even, sparse, and scores whose mean and ranks part."""
    if kind == "binary":
        for wins, losses in product((0, 1, 3, 12), (0, 1, 3, 12)):
            baseline = np.array([0] * wins + [1] * losses + [1, 0] * N)[:N]
            yield baseline, np.array([1] * wins + [0] * losses + [1, 0] * N)[:N]
        return
    rng = np.random.default_rng(3)
    baseline = rng.normal(5, 1, N).round(3)
    most = np.where(np.arange(N) < 2, -14.0, 1 + 0.01 * np.arange(N))  # most rise, the mean falls
    for change in (
        most,
        -most,
        rng.normal(0, 1, N),
        rng.exponential(1, N),
        rng.exponential(1, N) - 1,
        0 * most,
    ):
        yield baseline, (baseline + change).round(3)


def requests(test, kind):
    """The test on every world, with its parameters varied."""
    fields = test.request.model_fields
    cases = cases_of(test.name)
    varied = {**(cases.shown or cases.varied or {})}
    if "margin" in fields and fields["margin"].is_required():
        varied["margin"] = [{"value": 0.1, "unit": "proportion"}]
    if "n_resamples" in fields:  # what a field says, it says of any number of them
        varied["n_resamples"] = [1000]
    if "alternative" in fields:
        varied["alternative"] = ["two-sided", "greater", "less"]
    for values in product(*varied.values()):
        parameters = dict(zip(varied, values, strict=True))
        if parameters.get("method") == "confidence_sequence":
            del parameters["alternative"]
        if "margin" in parameters and kind == "continuous":
            parameters["margin"] = {"value": 0.5, "unit": "score"}
        if parameters.get("method") == "group_sequential":
            parameters["looks"] = [N // 2, N]
        elif test.name == "sequential" and kind == "continuous":
            parameters["bound"] = 100.0
        for baseline, candidate in worlds(kind):
            columns: dict[str, Any] = {"baseline": baseline.astype(float).tolist()}
            columns["candidate"] = candidate.astype(float).tolist()
            columns = {name: shape_column(test, column) for name, column in columns.items()}
            if test.plan.labels:
                asked = [value if item % 2 else math.nan for item, value in enumerate(columns["baseline"])]
                columns = labelled_columns(columns, None, (asked, asked))
            if test.plan.clusters == "required":
                columns["clusters"] = [str(item * item % 7) for item in range(N)]
            yield parameters, columns
