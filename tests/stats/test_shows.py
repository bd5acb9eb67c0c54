"""Every field that a rule may ask of a test has a declared meaning."""

from __future__ import annotations

from typing import get_args, get_origin

import pytest

from service.domain.assertion_clauses import meaning_of
from service.domain.feeding import parameter
from service.domain.fields import choices, shape_of
from service.domain.lint_settings import Use
from service.domain.plan import TestUse
from service.stats import registry, shows

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


def test_twelve_tests_are_for_plans_and_an_end_belongs_to_its_interval():
    assert len(IN_PLANS) == 12
    test = registry.find("mcnemar")
    use = Use(0, TestUse(id="m", test="mcnemar", version=1), test)
    assert isinstance(meaning_of(use, ("ci", "low"))[0], shows.Covers)
    assert meaning_of(use, ("ci", "level")) == (None, None)
    assert isinstance(meaning_of(use, ("intervals", "tango", "high"))[0], shows.Covers)
