"""A store whose people write Chinese, with a record in every state: what is English on its pages is the service's."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from starlette.testclient import TestClient

from tests.journeys.conftest import Service
from tests.journeys.filings import BASELINE, CANDIDATE, SMALLER, N
from tests.journeys.plans import draft, idempotent, items, locked, post, small_plan
from tests.journeys.queued import ASYNC
from tests.journeys.queued import PATH as MCNEMAR
from tests.journeys.queued import run as run_test
from tests.journeys.sliced import N as N_SLICED
from tests.journeys.sliced import post as post_sliced
from tests.journeys.sliced import sliced

RECORDS = "/v1/preregistrations"
STRATA = ["代码"] * 150 + ["数学"] * 150
FILING: dict[str, Any] = {
    "title": "题数由 30 减为 20",
    "original": "共 30 道题。",
    "actual": "只做了 20 道题。",
    "reason": "预算不足。",
    "impact": "题目更少，更难得到支持。",
    "direction": "conservative",
    "outcomes_seen": False,
    "change": SMALLER,
}


@dataclass(frozen=True, slots=True)
class House:
    """A signed-in visitor, and what stands in the store."""

    visitor: TestClient
    stranger: TestClient
    """Somebody who is not signed in."""
    ids: dict[str, str]
    """By a word of the tests: ids of records, of a job, of a key, tokens of links."""


def in_chinese(plan: dict[str, Any]) -> dict[str, Any]:
    """The plan with Chinese where people write words of their own."""
    plan["title"] = "缓存合成与零构建检索的比较"
    for population in plan["populations"]:
        population["dataset"] = "长对话题库"
        if "independence" in population:
            population["independence"] = "每段对话一道题"
    for hypothesis in plan["hypotheses"]:
        hypothesis["statement"] = f"{hypothesis['id']}：B 的正确率比 A 高至少 2 个百分点"
    return plan


def build_house(service: Service) -> House:
    """Fill the store of a service, and sign somebody in who may do everything."""
    ids = {
        "judged": _judged(service),
        "sliced": _sliced(service),
        "draft": draft(service.client, in_chinese(small_plan(12))),
        "bare": _bare_draft(service),
        "collecting": _collecting(service),
        "withdrawn": _withdrawn(service),
        "amended": _amended(service),
        "failed": _failed(service),
    }
    _fill_series(service)
    ids |= _make_jobs(service) | _share(service, ids["judged"], ids["sliced"])
    ids["key"] = _make_keys(service)
    visitor = TestClient(service.app, follow_redirects=False, base_url="https://testserver")
    assert visitor.post("/login", data={"key": service.key()}).status_code == 303
    stranger = TestClient(service.app, follow_redirects=False, base_url="https://testserver")
    return House(visitor, stranger, ids)


def _judged(service: Service) -> str:
    prereg_id = locked(service.client, in_chinese(small_plan(N, missing="exclude_pair")))
    assert post(service.client, prereg_id, "A", items(N), BASELINE).status_code == 201
    candidate: list[Any] = [*CANDIDATE[:-1], None]
    status = ["ok"] * (N - 1) + ["missing"]
    assert post(service.client, prereg_id, "B", items(N), candidate, status=status).status_code == 201
    assert service.run_jobs() == 1
    answer = service.client.post(f"{RECORDS}/{prereg_id}/deviations", json=FILING)
    assert answer.status_code == 201, answer.text
    return prereg_id


def _sliced(service: Service) -> str:
    prereg_id = locked(
        service.client, in_chinese(sliced()), {"p": {"item_ids": items(N_SLICED), "strata": STRATA}}
    )
    for endpoint, wins in (("accuracy", 10), ("format", 12)):
        candidate = [int(at % wins == 0) for at in range(N_SLICED)]
        baseline = [int(at % 60 == 1) for at in range(N_SLICED)]
        for arm, values in (("A", baseline), ("B", candidate)):
            assert post_sliced(service, prereg_id, arm, endpoint, values).status_code == 201
    assert service.run_jobs() == 1
    return prereg_id


def _bare_draft(service: Service) -> str:
    plan = in_chinese(small_plan(8))
    plan["hypotheses"][0]["rule"] = "delta >= 2 and mcnemar.p_value < 0.05"
    del plan["sesoi"]
    created = service.client.post(RECORDS, json=plan)
    assert created.status_code == 201, created.text
    return str(created.json()["id"])


def _collecting(service: Service) -> str:
    prereg_id = locked(service.client, in_chinese(small_plan(8)))
    assert post(service.client, prereg_id, "A", items(8)[:5], [1] * 5).status_code == 201
    return prereg_id


def _withdrawn(service: Service) -> str:
    prereg_id = locked(service.client, in_chinese(small_plan(8)))
    answer = service.client.post(f"{RECORDS}/{prereg_id}/withdrawal", json={"reason": "不再需要"})
    assert answer.status_code == 200, answer.text
    return prereg_id


def _amended(service: Service) -> str:
    prereg_id = locked(service.client, in_chinese(small_plan(8)))
    etag = service.client.get(f"{RECORDS}/{prereg_id}").headers["ETag"]
    answer = service.client.post(
        f"{RECORDS}/{prereg_id}/amendments",
        json={"reason": "尚无结果", "changes": {"missing": "exclude_pair"}, "acknowledge": "all"},
        headers=idempotent(**{"If-Match": etag}),
    )
    assert answer.status_code == 200, answer.text
    return prereg_id


def _failed(service: Service) -> str:
    """A record that is complete, and whose rows the runner cannot open."""
    prereg_id = locked(service.client, in_chinese(small_plan(6)))
    handler = service.runner._handlers["verdict"]
    opener, handler._seal_private = handler._seal_private, bytes(32)
    for arm in "AB":
        post(service.client, prereg_id, arm, items(6), [int(arm == "B")] * 6)
    service.run_jobs()
    handler._seal_private = opener
    return prereg_id


def _fill_series(service: Service) -> None:
    for name, values in {
        "夜间": [[1] * 6 + [0] * 2, [1] * 7 + [0], [0] * 7 + [1], [0] * 8],
        "新": [[1] * 7 + [0]],
    }.items():
        for night, scores in enumerate(values):
            sent = {"name": f"第{night}晚", "item_ids": items(8), "values": scores}
            answer = service.client.post(f"/v1/series/{name}/points", json=sent)
            assert answer.status_code == 201, answer.text


def _make_jobs(service: Service) -> dict[str, str]:
    """A job that succeeded, one that failed and one that waits, by these words."""
    made = {"job": run_test(service, ASYNC).json()["id"]}
    equal = {"baseline": [1, 1, 1], "candidate": [2, 2, 2]}
    refused = run_test(service, ASYNC, equal, "/v1/tests/t-test")
    assert refused.status_code == 202, refused.text
    made["failed_job"] = refused.json()["id"]
    service.run_jobs()
    made["waiting_job"] = run_test(service, ASYNC, path=MCNEMAR).json()["id"]
    return made


def _share(service: Service, judged: str, public: str) -> dict[str, str]:
    """A link that opens a record, one that was revoked, and a record that is public."""
    path = f"{RECORDS}/{judged}"
    assert service.client.put(f"{path}/visibility", json={"visibility": "link"}).status_code == 200
    tokens = []
    for name in ("审稿人甲", "审稿人乙"):
        made = service.client.post(f"{path}/view-links", json={"name": name})
        assert made.status_code == 201, made.text
        tokens.append((made.json()["link"]["id"], made.json()["path"].rpartition("/")[2]))
    assert service.client.delete(f"{path}/view-links/{tokens[1][0]}").status_code == 200
    answer = service.client.put(f"{RECORDS}/{public}/visibility", json={"visibility": "public"})
    assert answer.status_code == 200, answer.text
    return {"token": tokens[0][1], "revoked": tokens[1][1], "public": public}


def _make_keys(service: Service) -> str:
    """A key that was revoked beside one that stands; the id of the latter."""
    made = []
    for name in ("夜间作业", "旧密钥"):
        body = {"name": name, "kind": "job", "scopes": ["read", "results:write"]}
        answer = service.client.post("/v1/keys", json=body, headers={"Idempotency-Key": uuid.uuid4().hex})
        assert answer.status_code == 201, answer.text
        made.append(answer.json()["key"]["id"])
    service.client.post(f"/v1/keys/{made[1]}/revoke", headers={"Idempotency-Key": uuid.uuid4().hex})
    return str(made[0])
