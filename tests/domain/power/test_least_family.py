"""What a family's policy leaves within reach, and fallbacks and judges that lint speaks of."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.domain.decision.family import Family
from service.stats.multiple_comparisons import MultipleComparisonsRequest, multiple_comparisons
from tests.domain.sample import VALUE, codes, findings
from tests.drawing import draws

POLICIES = ("bonferroni", "holm", "hochberg", "hommel", "bh", "by", "fixed_sequence")
NEVER = "RULE_NEVER_PASSES"


def family(policy: str, size: int, n_clusters: int, **more: Any) -> dict[str, Any]:
    """So many arms beside C1 on so few clusters, each judged by the sign-flip test."""
    hypotheses = [
        VALUE["hypotheses"][0]
        | {"id": f"H{each}", "candidate": f"A{each}", "rule": "delta > 0 and m.p_value < 0.05"}
        for each in range(size)
    ]
    return {
        "populations.0.independence": None,
        "populations.0.clusters": {"key": "conversation", "n": n_clusters},
        "tests.0": {"id": "m", "test": "clustered-mcnemar", "version": 1, "parameters": {}},
        "hypotheses": hypotheses,
        "multiplicity": {"policy": policy, "family": [each["id"] for each in hypotheses]},
        **more,
    }


@pytest.mark.parametrize("policy", ["none", *POLICIES])
def test_three_on_six_clusters(policy: str) -> None:
    """The least p of each is .03125: times three it is .09375, and by Benjamini and Yekutieli 11/6 of it is .0573."""
    least = {"bonferroni": 0.09375, "holm": 0.09375, "by": 0.0573}.get(policy)
    found = [each for each in findings(family(policy, 3, 6)) if each.code == NEVER]
    assert len(found) == (0 if least is None else 3)
    for each in found:
        assert "with 6 clusters the least p of sign_flip is 0.03125" in each.message
        assert f"`{policy}` over 3 hypotheses makes it at least {least:.4g}"[:-1] in each.message
        assert "plan at least 7 clusters" in each.message
        assert "or the policy `fixed_sequence`" in each.message


@pytest.mark.slow
def test_the_clusters_that_would_do_are_those_named() -> None:
    for size in (2, 3, 5, 10):
        found = [each for each in findings(family("holm", size, 5)) if each.code == NEVER]
        needed = int(re.findall(r"plan at least (\d+) clusters", found[0].message)[0])
        assert any(each.code == NEVER for each in findings(family("holm", size, needed - 1)))
        assert all(each.code != NEVER for each in findings(family("holm", size, needed)))


def test_a_member_on_many_items_is_held_back_by_none_but_its_own_least() -> None:
    """Beside a member with a tiny p Holm adjusts the other one as if it were alone."""
    changes = family("holm", 2, 6)
    changes["populations.1"] = {"id": "two", "dataset": "E", "n": 500, "independence": "drawn one by one"}
    changes["tests.1"] = {"id": "e", "test": "mcnemar", "version": 1, "parameters": {}}
    changes["hypotheses"][1] |= {"population": "two", "rule": "delta > 0 and e.p_value < 0.05"}
    assert (NEVER, "hypotheses[0].rule") not in codes(changes)


def test_a_rule_that_its_family_does_not_adjust_is_left_alone() -> None:
    changes = family("bonferroni", 3, 6)
    changes["multiplicity"]["family"] = ["H1", "H2"]
    found = [path for code, path in codes(changes) if code == NEVER]
    assert found == ["hypotheses[1].rule", "hypotheses[2].rule"]


@settings(max_examples=draws(150))
@given(
    st.lists(st.tuples(st.floats(0.001, 1), st.floats(0.001, 1)), min_size=1, max_size=6),
    st.sampled_from(POLICIES),
)
def test_adjusted_values_grow_with_every_p(pairs: list[tuple[float, float]], policy: Any) -> None:
    """So the policy on the least of all bounds what it can give."""
    least, more = ([pick(each) for each in pairs] for pick in (min, max))
    low, high = (
        multiple_comparisons(MultipleComparisonsRequest(p_values=each, method=policy)).adjusted
        for each in (least, more)
    )
    assert all(a <= b + 1e-12 for a, b in zip(low, high, strict=True))
    names = [f"H{each}" for each in range(len(pairs))]
    one = np.ones((1, 1))
    beside = Family(policy, tuple(names), np.array([[more]]), dict.fromkeys(names, one))
    assert all(
        beside.adjust(name, p * one).item() >= a - 1e-12 for name, p, a in zip(names, more, low, strict=True)
    )


EQUIVALENCE = {"id": "eq", "test": "equivalence", "version": 1, "parameters": {"method": "tango"}}


@pytest.mark.parametrize("policy", ["none", *POLICIES])
def test_a_fallback_that_a_policy_does_not_cover_is_asked_about(policy: str) -> None:
    second = VALUE["hypotheses"][0] | {"id": "H2", "candidate": "C3"}
    changes = {
        "tests.1": EQUIVALENCE,
        "hypotheses.0.equivalence": "eq",
        "multiplicity": {"policy": policy, "family": ["H1"]},
    }
    path = "hypotheses[0].equivalence"
    assert ("EQUIVALENCE_UNCORRECTED", path) not in codes(changes)
    several = changes | {"hypotheses.1": second, "multiplicity": {"policy": policy, "family": ["H1", "H2"]}}
    found = [each for each in findings(several) if each.code == "EQUIVALENCE_UNCORRECTED"]
    assert bool(found) is (policy not in ("none", "holm", "bonferroni"))
    assert all(each.path == path and each.asks for each in found)


@pytest.mark.parametrize(
    ("changes", "warned"),
    [
        ({}, False),
        ({"hypotheses.0.equivalence": "eq"}, True),
        ({"hypotheses.0.claim": "equivalence", "hypotheses.0.rule": "eq.equivalent is true"}, True),
        ({"hypotheses.0.claim": "non_inferiority", "hypotheses.0.rule": "eq.noninferior is true"}, True),
        ({"hypotheses.0.claim": "minimum_effect", "hypotheses.0.rule": "m.ci.low > 2 pp"}, False),
    ],
)
def test_an_unaudited_judge_behind_a_claim_of_closeness_is_asked_about(
    changes: dict[str, Any], warned: bool
) -> None:
    judge = {"endpoints.0.judge": {"model": "gpt"}, "tests.1": EQUIVALENCE, **changes}
    found = [each for each in findings(judge) if each.code == "JUDGE_NOT_AUDITED"]
    assert bool(found) is warned
    assert all(each.asks and each.path == "hypotheses[0].endpoint" for each in found)
    audit = {"id": "accuracy.audit", "kind": "binary", "role": "secondary"}
    assert "JUDGE_NOT_AUDITED" not in [code for code, _ in codes({**judge, "endpoints.1": audit})]
    elsewhere = audit | {"populations": ["two"]}
    two = {"id": "two", "dataset": "E", "n": 50, "independence": "drawn one by one"}
    there = [code for code, _ in codes({**judge, "endpoints.1": elsewhere, "populations.1": two})]
    assert ("JUDGE_NOT_AUDITED" in there) is warned
