"""Selection told: the verdict on a candidate that was chosen on its own items says so, with the bound that is left."""

from __future__ import annotations

from typing import Any

import pytest
from scipy.stats import beta

from service.stats.mcnemar import McNemarRequest, mcnemar
from tests.journeys.bundles import bundle, checked, failures
from tests.journeys.conftest import Service
from tests.journeys.plans import draft, items, lock, post, small_plan
from tests.journeys.states import path, verdict

pytestmark = pytest.mark.any_database

N = 40
BASELINE = [float(i % 3 == 0) for i in range(N)]
CANDIDATE = [float(i % 7 != 0) for i in range(N)]


def judged(service: Service, plan: dict[str, Any]) -> tuple[str, Any]:
    prereg_id = draft(service.client, plan)
    file = service.client.get(path(prereg_id, "prereg.md"), params={"lang": "zh"})
    again = service.client.post(
        "/v1/preregistrations", content=file.content, headers={"Content-Type": "text/markdown"}
    )
    assert again.json()["plan"] == service.client.get(path(prereg_id)).json()["plan"]
    unread = lock(service.client, prereg_id, [])
    assert "TRIED_ON_THESE" in unread.text
    assert lock(service.client, prereg_id).status_code == 200
    arms = {"A": BASELINE, "B": CANDIDATE}
    for arm in dict.fromkeys(
        arm for each in plan["hypotheses"] for arm in (each.get("baseline"), "B") if arm
    ):
        assert post(service.client, prereg_id, arm, items(N), arms[arm]).status_code == 201
    (hypothesis,) = verdict(service, prereg_id)["hypotheses"]
    assert failures(checked(bundle(service, prereg_id))) == []
    return prereg_id, hypothesis


def test_the_bound_of_two_arms_is_that_of_the_interval_at_a_share_of_its_error(service: Service) -> None:
    plan = small_plan(N) | {"tried": {"n": 10, "on": "LongMemEval-S"}}
    prereg_id, hypothesis = judged(service, plan)
    chosen = hypothesis["selection"]
    assert (chosen["tried"], chosen["of"], chosen["confidence"]) == (10, "mcnemar.ci", 0.975)
    request = McNemarRequest(baseline=BASELINE, candidate=CANDIDATE, level=1 - 0.05 / 10)
    assert chosen["bound"] == pytest.approx(mcnemar(request).ci.low)
    assert "chosen among 10 variants" in hypothesis["sentence"]
    for language, words in (("en", "so its estimate is optimistic"), ("zh", "估计偏乐观")):
        assert words in service.client.get(path(prereg_id, "report.md"), params={"lang": language}).text
    place = service.client.get(path(prereg_id)).json()["family"]
    family = service.client.get(f"/v1/families/{place['id']}").json()
    assert (family["tried"], family["items"][0]["tried"]) == (10, 10)


def test_the_bound_of_one_arm_is_clopper_and_pearsons_at_a_share_of_its_error(service: Service) -> None:
    hypothesis = {
        "id": "H1", "claim": "at_least", "statement": "B answers at least 50 %", "population": "p",
        "candidate": "B", "reference": {"value": 50, "unit": "%"}, "endpoint": "accuracy",
        "rule": "score.ci.low >= 50%",
    }  # fmt: skip
    plan = small_plan(N, hypotheses=[hypothesis]) | {
        "tests": [{"id": "score", "test": "one-sample-mean", "version": 1}],
        "multiplicity": {"policy": "none", "family": ["H1"]},
        "tried": {"n": 25, "on": "LongMemEval-S"},
    }
    _, told = judged(service, plan)
    right = int(sum(CANDIDATE))
    assert told["selection"]["bound"] == pytest.approx(beta.ppf(0.025 / 25, right, N - right + 1))


def test_a_choice_on_other_data_is_no_matter_of_the_verdict(service: Service) -> None:
    prereg_id = draft(service.client, small_plan(N) | {"tried": {"n": 10, "on": "another"}})
    assert lock(service.client, prereg_id).status_code == 200
    for arm, values in (("A", BASELINE), ("B", CANDIDATE)):
        assert post(service.client, prereg_id, arm, items(N), values).status_code == 201
    assert "selection" not in verdict(service, prereg_id)["hypotheses"][0]
