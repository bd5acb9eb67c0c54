"""Every field that a rule may ask of a test has a declared meaning."""

from __future__ import annotations

import numpy as np
import pytest

from service.domain.plans.plan import TestUse
from service.domain.rules.claims.clauses import meaning_of
from service.domain.rules.feeding import parameter
from service.domain.rules.fields import shape_of
from service.domain.rules.settings import Use
from service.errors import InvalidData
from service.stats.shared.declaring import registry, shows
from tests.drawing import one_in
from tests.stats.shared.declared import IN_PLANS, OF_TWO_ARMS, fields, requests


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

    known = {".".join(path) for path in fields(test)} | {f"{name}." for name in test.analysis.model_fields}
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


@pytest.mark.parametrize("test", one_in(4, OF_TWO_ARMS), ids=lambda test: test.name)
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
