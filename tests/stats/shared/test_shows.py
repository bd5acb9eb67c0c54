"""Every field that a rule may ask of a test has a declared meaning."""

from __future__ import annotations

from itertools import product
from typing import Any, get_args, get_origin

import numpy as np
import pytest

from service.domain.plans.plan import TestUse
from service.domain.rules.claims.clauses import meaning_of
from service.domain.rules.feeding import parameter, shaped
from service.domain.rules.fields import choices, shape_of
from service.domain.rules.settings import Use
from service.errors import InvalidData
from service.stats.shared.declaring import registry, shows
from tests.stats.cases import cases_of

IN_PLANS = [test for test in registry.every() if test.plan is not None]


def fields(test):
    """Paths of all numbers, intervals and truths, those under names of a dictionary included."""
    for dotted in choices(test.analysis):
        yield tuple(dotted.split("."))
    for name, info in test.analysis.model_fields.items():
        if get_origin(info.annotation) is dict and not info.exclude:
            key, _ = get_args(info.annotation)
            yield from ((name, each) for each in get_args(key))


@pytest.mark.parametrize("test", IN_PLANS, ids=lambda test: test.name)
def test_every_number_interval_and_truth_has_a_meaning(test):
    declared = test.plan.shows
    for path in fields(test):
        shape, meaning = shape_of(test.analysis, path), shows.meaning_at(declared, path)
        if shape in ("number", "interval", "truth"):
            assert meaning is not None, path
        if isinstance(meaning, shows.Covers):
            assert shape == "interval", path
        if isinstance(meaning, shows.Finding):
            assert shape == "truth", path
        if isinstance(meaning, (shows.PValue, shows.Share, shows.Estimate, shows.Signed)):
            assert shape == "number", path


@pytest.mark.parametrize("test", IN_PLANS, ids=lambda test: test.name)
def test_every_declared_field_exists_and_reads_parameters_that_exist(test):
    use = TestUse(id="t", test=test.name, version=test.version)

    def value(name):
        assert name in test.request.model_fields
        return parameter(use, name)

    known = {".".join(path) for path in fields(test)}
    for dotted, meaning in test.plan.shows.items():
        assert any(each == dotted or each.startswith(dotted.removesuffix("*")) for each in known), dotted
        match meaning:
            case shows.Covers() | shows.Finding():
                assert 0 < meaning.error(value) < 0.5
            case shows.PValue():
                assert meaning.ways(value)
                assert meaning.fixes(value) in (True, False)


def test_an_end_belongs_to_its_interval():
    test = registry.find("mcnemar")
    use = Use(0, TestUse(id="m", test="mcnemar", version=1), test)
    assert isinstance(meaning_of(use, ("ci", "low"))[0], shows.Covers)
    assert meaning_of(use, ("ci", "level")) == (None, None)
    assert isinstance(meaning_of(use, ("intervals", "tango", "high"))[0], shows.Covers)


N = 24


def worlds(kind):
    """Pairs of arms: identical, one-sided, even, sparse, and scores whose mean and ranks part."""
    if kind == "binary":
        for wins, losses in product((0, 1, 3, 7, 12), (0, 1, 3, 7, 12)):
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
            columns = {name: shaped(test, column) for name, column in columns.items()}
            if test.plan.clusters == "required":
                columns["clusters"] = [str(item * item % 7) for item in range(N)]
            yield parameters, columns


def answers(test):
    for kind in sorted(test.plan.endpoints):
        for parameters, columns in requests(test, kind):
            try:
                analysis = test.compute(test.request.model_validate(parameters | columns))
            except InvalidData:
                continue  # such as tango on scores
            yield (
                TestUse(id="t", test=test.name, version=test.version, parameters=parameters),
                columns,
                analysis,
            )


def at(analysis, path):
    for name in path:
        analysis = analysis.get(name) if isinstance(analysis, dict) else getattr(analysis, name, None)
    return analysis


def weighed(columns, analysis, path):
    """The observed difference that the field is about."""
    baseline, candidate = (np.array(columns[name]) for name in ("baseline", "candidate"))
    of = path[-1] if path[0] == "estimates" else getattr(analysis, "estimand", None)
    if of != "cluster_weighted":
        return float(candidate.mean() - baseline.mean())
    labels = np.array(columns["clusters"])
    return float(np.mean([(candidate - baseline)[labels == each].mean() for each in np.unique(labels)]))


@pytest.mark.parametrize("test", IN_PLANS, ids=lambda test: test.name)
def test_what_a_field_is_declared_to_say_of_the_observed_difference_holds_on_data(test):
    checked = 0
    for use, columns, analysis in answers(test):
        margin = getattr(analysis, "margin", None) or 0.0
        for path in fields(test):
            meaning, value = shows.meaning_at(test.plan.shows, path), at(analysis, path)
            if meaning is None or value is None or isinstance(meaning, shows.Nothing):
                continue
            checked += 1
            said = (use.parameters, columns, path, value)
            assert agrees(meaning, value, weighed(columns, analysis, path), margin, use), said
    assert checked > 10


def agrees(meaning, value, delta, margin, use):
    """Whether the declared meaning of a value is true of the observed difference."""
    near = 1e-9

    def inside(ways):
        return any(all(side * (delta - k * margin) > near for side, k in bounds) for bounds in ways)

    def given(name):
        return parameter(use, name)

    match meaning:
        case shows.Estimate():
            return abs(value - delta) < near or given("looks") is not None
        case shows.Signed():
            return np.sign(round(value - meaning.origin, 9)) == np.sign(round(delta, 9))
        case shows.Covers(around=True, origin=None):
            low, high = (delta if end is None else end for end in (value.low, value.high))
            return low <= delta + near and high >= delta - near
        case shows.Covers(around=True):
            above = value.low is None or value.low <= meaning.origin or delta > near
            return above and (value.high is None or value.high >= meaning.origin or delta < -near)
        case shows.PValue() if meaning.fixes(given):
            ways = meaning.ways(given)
            return value / len(ways) > 0.25 or inside(ways)
        case shows.Share():
            small = value <= 0.25
            if not small and value < 0.75:
                return True
            side, strict = -meaning.side if small else meaning.side, meaning.with_zero == small
            return side * delta > (near if strict else -near)
        case shows.Finding():
            return not value or inside(meaning.ways)
        case _:
            return True
