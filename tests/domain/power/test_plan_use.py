"""What a statistical test says of itself to plans, against the test: every declaration of every test."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from itertools import pairwise, product

import numpy as np
import pytest

from service.domain.power.attainable.least_p import Size, least_p
from service.domain.power.enumerated.enumerated_tests import BinaryTest
from service.domain.power.procedure.fields import SimulatedSets
from service.domain.rules.answers import Answer
from service.domain.rules.feeding import build_request, parameter
from service.domain.rules.fields import choices
from service.domain.rules.settings import resolve
from service.domain.rules.truth import Ends
from service.errors import ForelockError
from service.stats.shared.declaring import registry
from service.stats.shared.declaring.cell_lines import ABOVE, BELOW, UNDEFINED, EndLines
from service.stats.shared.declaring.common import Margin
from service.stats.shared.declaring.simulated import Units
from tests.domain.power.plan_uses import IN_PLANS, asked
from tests.domain.sample import plan
from tests.drawing import one_in
from tests.stats.cases import cases_of, file_of

MARGIN = {"value": 30, "unit": "pp"}


def cases(wanted):
    """A case for each of the tests and its parameters."""
    return [
        pytest.param(name, given, id="-".join([name, *map(str, given.values())]))
        for name, test in IN_PLANS.items()
        if wanted(test.plan)
        for given in asked(name)
    ]


def setting_of(name, given, *, n, clusters=None):
    """A hypothesis judged by that test alone."""
    test = registry.find(name)
    kind = "binary" if "binary" in test.plan.endpoints else "continuous"
    changes = {
        "populations.0.n": n,
        "endpoints.0.kind": kind,
        "tests.0": {"id": "m", "test": name, "version": test.version, "parameters": given},
        "hypotheses.0.rule": "m.delta > 0",
        "sesoi": {"accuracy": MARGIN if kind == "binary" else {"value": 0.3, "unit": "score"}},
    }
    if clusters:
        changes |= {"populations.0.independence": None, "populations.0.clusters": {"key": "c", "n": clusters}}
    changed = plan(changes)
    return resolve(changed).settings[0], changed.sesoi["accuracy"]


def analysed(use, baseline, candidate, clusters=None, margin=None):
    """The analysis as JSON; None where the test refuses these data."""
    try:
        request = build_request(
            use.test, use.use, baseline=baseline, candidate=candidate, clusters=clusters, margin=margin
        )
        return use.test.compute(request).model_dump(mode="json")
    except ForelockError:
        return None


def test_every_test_of_a_plan_says_which_parameters_are_worth_varying():
    silent = [file_of(name) for name in IN_PLANS if cases_of(name).varied is None]
    assert not silent, f"fill `varied` of CASES in {', '.join(silent)}"


@pytest.mark.parametrize(("name", "given"), one_in(3, cases(lambda use: use.least_p is not None)))
@pytest.mark.parametrize(("n", "n_clusters"), [(5, 2), (7, 7), (24, 6), (60, 10)])
def test_no_data_give_less_than_the_least_p_and_extreme_data_give_it(name, given, n, n_clusters):
    test = registry.find(name)
    clustered = test.plan.clusters == "required"
    setting, _ = setting_of(name, given, n=n, clusters=n_clusters if clustered else None)
    use = setting.uses["m"]
    least, why = least_p(use, Size(n, n_clusters if clustered else None), setting.population)
    if least == 0:
        return  # none is known for this method
    labels = [str(item % n_clusters) for item in range(n)] if clustered else None
    far = [1.0] * n, [1.0 + item / 64 for item in range(n)]
    found = []
    for up, way in product(far, (1, -1)):
        arms = [0.0] * n, up
        if "continuous" not in test.plan.endpoints and set(up) != {1.0}:
            continue
        found.append(analysed(use, *arms[::way], clusters=labels))
    p = min(each["p_value"] for each in found if each is not None and each["p_value"] is not None)
    assert float(least) <= p * (1 + 1e-12)
    if given.get("method") != "corrected":  # a continuity correction stays further off
        assert p == pytest.approx(float(least), rel=1e-6)
    assert f"{float(least):.4g}" in why


@pytest.mark.parametrize(("name", "given"), one_in(3, cases(lambda use: use.cells is not None)))
def test_fields_on_cells_are_those_of_the_test(name, given):
    n = 6
    setting, sesoi = setting_of(name, given, n=n)
    use = setting.uses["m"]
    test = BinaryTest(use, setting.endpoint, n, sesoi)
    m, b = (
        np.array(each) for each in zip(*((m, b) for m in range(n + 1) for b in range(m + 1)), strict=True)
    )
    known = 0
    for text in choices(use.test.analysis):
        path = tuple(text.split("."))
        line = test.line_of(path)
        if line is None:
            continue
        known += 1
        seen = [Answer(test.answer(*map(int, cell))).observe(*path) for cell in zip(b, m, strict=True)]
        ends = {"low": line.low, "high": line.high} if isinstance(line, EndLines) else {"": line}
        for end, each in ends.items():
            values = [getattr(one.value, end) if isinstance(one.value, Ends) else one.value for one in seen]
            told = sorted({float(value) for value in values if value is not None and abs(value) < np.inf})
            steps = [0.05, *((low + high) / 2 for low, high in pairwise(told) if high - low > 1e-6)]
            for step in steps:
                sides = each.sides(b, m, Fraction(step), (0, 1))
                for side, value, one in zip(sides, values, seen, strict=True):
                    if one.bound is not None or (value is not None and abs(value - step) < 1e-6):
                        continue
                    open_ = [corner for corner in one.corners if isinstance(corner, float)]
                    untold = value is None or (len(open_) > 0 and min(open_) <= step <= max(open_))
                    expected = UNDEFINED if untold else ABOVE if value > step else BELOW
                    assert side == expected, (text, end, step, value)
    assert known, "no field is declared: leave `cells` out"


@pytest.mark.parametrize(("name", "given"), one_in(3, cases(lambda use: use.simulated is not None)))
def test_fields_on_simulated_sets_are_those_of_the_test(name, given):
    """What sums decide, of scores without clusters or in them; what is drawn has tests of its own."""
    plan_use = registry.find(name).plan
    clustered = plan_use.clusters == "required"
    setting, _ = setting_of(name, given, n=24, clusters=6 if clustered else None)
    use = setting.uses["m"]
    if plan_use.simulated.effort(partial(parameter, use.use)) != "summed":
        return
    sizes = np.full(6 if clustered else 24, 4 if clustered else 1)
    items = np.random.default_rng(5).normal(0.4, 1.0, (5, 24))
    sums = items.reshape(5, len(sizes), -1).sum(axis=2)
    score = Margin(value=0.3, unit="score")
    sets = SimulatedSets(setting, score, Units(sizes, sums, None, clustered, 1))
    labels = [str(unit) for unit, size in enumerate(sizes) for _ in range(size)] if clustered else None
    analyses = [analysed(use, [0.0] * 24, row.tolist(), labels, score) for row in items]
    for text in choices(use.test.analysis):
        path = tuple(text.split("."))
        found = sets.value_of(use, path)
        for at, analysis in enumerate(analyses if found is not None else ()):
            if analysis is None:
                continue
            value = Answer({"analysis": analysis}).observe(*path).value
            ends = [value.low, value.high] if isinstance(value, Ends) else [value]
            columns = found if isinstance(found, tuple) else (found,)
            for column, end in zip(columns, ends, strict=True):
                assert end is None or column[at] == pytest.approx(float(end), rel=1e-8), text


@pytest.mark.parametrize("name", ["mann-whitney", "wilcoxon"])
def test_a_delta_that_is_no_difference_of_means_is_not_taken_for_one(name):
    """Hodges and Lehmann's estimates are medians."""
    setting, sesoi = setting_of(name, {}, n=4)
    sums = np.array([[0.0, 0.0, 0.0, 9.0]])
    sets = SimulatedSets(setting, sesoi, Units(np.ones(4, dtype=np.int64), sums, None, False, 1))
    assert sets.value_of(setting.uses["m"], ("delta",)) is None
