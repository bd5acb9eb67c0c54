"""A candidate that was chosen on the items that judge it: the bound that is left, against its definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import beta, binom

from service.domain.lint.lint import lint
from service.domain.plans.plan import Plan
from service.domain.verdicts import selection
from service.errors import InvalidData
from service.reports.prereg.markdown import parse_plan
from service.reports.prereg.print import print_plan
from tests.journeys.plans import small_plan

OWN = {"n": 10, "on": "LongMemEval-S"}


def plan(tried: Any = OWN, **changes: Any) -> Plan:
    return Plan.from_dict(small_plan(40, **changes) | ({"tried": tried} if tried else {}))


def test_a_plan_that_tells_of_no_choice_has_the_bytes_it_had() -> None:
    assert "tried" not in plan(None).canonical_text()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_choice_is_read_back_from_markdown(language: Any) -> None:
    text = print_plan(plan(), language)
    assert ("Variants tried" if language == "en" else "试过的变体数") in text
    assert parse_plan(text)[0] == plan()


@pytest.mark.parametrize(
    ("on", "own"),
    [("longmemeval-s ", True), ("a" * 64, True), ("LongMemEval-S dev", False), ("b" * 64, False)],
)
def test_lint_warns_where_the_data_of_the_choice_are_the_items(on: str, own: bool) -> None:
    populations = small_plan(40)["populations"]
    populations[0]["items_sha256"] = "a" * 64
    told = plan({"n": 10, "on": on}, populations=populations)
    findings = [each for each in lint(told, {}) if each.code == "TRIED_ON_THESE"]
    assert [(each.path, each.asks) for each in findings] == ([("tried.on", True)] if own else [])


@pytest.mark.parametrize("wrong", [{"n": 1, "on": "x"}, {"n": 2}, {"n": 2, "on": ""}, {"n": 2.5, "on": "x"}])
def test_a_choice_has_two_variants_and_its_data(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="tried"):
        plan(wrong)


@pytest.mark.parametrize(("variants", "items", "share"), [(2, 12, 0.7), (3, 10, 0.5), (5, 30, 0.8)])
def test_one_of_n_bounds_errs_no_more_than_it_says_whichever_is_chosen(
    variants: int, items: int, share: float
) -> None:
    """Exactly, over every outcome of variants that are alike: a bound that does not allow for the choice errs more."""
    k = np.arange(items + 1)
    best = np.diff(np.concatenate([[0.0], binom.cdf(k, items, share) ** variants]))  # of the best one's count

    def errs(tail: float) -> float:
        low = np.where(k == 0, 0.0, beta.ppf(tail, np.maximum(k, 1), items - k + 1))
        return float(best[low > share].sum())

    assert errs(0.1 / variants) <= 0.1 < errs(0.1)


@pytest.mark.parametrize(
    "refusal", [InvalidData("too few"), np.linalg.LinAlgError("singular"), ZeroDivisionError()]
)
def test_data_that_the_test_cannot_take_leave_no_bound(
    monkeypatch: pytest.MonkeyPatch, refusal: Exception
) -> None:
    assert _answer_where_the_test(monkeypatch, refusal) is None


def test_a_fault_of_ours_is_not_taken_for_a_bound_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AttributeError):
        _answer_where_the_test(monkeypatch, AttributeError("a name that is gone"))


def _answer_where_the_test(monkeypatch: pytest.MonkeyPatch, raises: Exception) -> Any:
    def find(*_: Any) -> Any:
        raise raises

    monkeypatch.setattr(selection.registry, "find", find)
    setting: Any = None
    return selection._answer_at(setting, plan().tests[0], setting, 0.9)
