"""Items pinned by their content: what a file of other items is refused for, and what is told where that is allowed."""

from __future__ import annotations

import hashlib
from typing import Any
from unicodedata import normalize

import pytest

from tests.ingest.truth import folder
from tests.journeys.bundles import bundle, checked, failures
from tests.journeys.conftest import Service
from tests.journeys.imported import manifest, rows, send
from tests.journeys.imported import plan as imported_plan
from tests.journeys.plans import items, locked, small_plan
from tests.journeys.states import path, verdict

pytestmark = pytest.mark.any_database

N = 6
SECRET = "What is the answer to number"


def table(*values: Any, other: tuple[int, ...] = (), bare: tuple[int, ...] = ()) -> bytes:
    lines = ["item_id,value,question,target"]
    for n, value in enumerate(values):
        question = "" if n in bare else f"{SECRET} {n}{' really' if n in other else ''}?"
        lines.append(f"item-{n},{value},{question},{n}")
    return "\n".join(lines).encode()


def digests(n: int = N) -> list[str]:
    """By the words of the documentation, and no code of ours: a JSON array of input and target, without blanks."""
    return [hashlib.sha256(f'["{SECRET} {at}?","{at}"]'.encode()).hexdigest() for at in range(n)]


def pinned(service: Service) -> str:
    made = small_plan(N) | {"import": {"format": "csv"}}
    return locked(service.client, made, {"p": {"item_ids": items(N), "content_sha256": digests()}})


def test_a_run_of_the_locked_items_leaves_no_mark(service: Service) -> None:
    prereg_id = pinned(service)
    there = service.client.get(path(prereg_id, "populations", "p", "items")).json()
    assert there["content_sha256"] == digests()
    for arm, value in (("A", 0), ("B", 1)):
        sent = send(service, prereg_id, table(*[value] * N), arm=arm)
        assert sent.status_code == 201, sent.text
        told = sent.json()["batches"][0]
        assert (told["content_differs"], told["content_unknown"]) == (0, 0)
    assert "marks" not in verdict(service, prereg_id)
    assert failures(checked(bundle(service, prereg_id))) == []


def test_other_items_under_the_same_ids_are_refused_by_name_and_nothing_is_stored(service: Service) -> None:
    prereg_id = pinned(service)
    told = []
    for values in ([1] * N, [0] * N):
        refused = send(service, prereg_id, table(*values, other=(1, 4)), arm="A")
        problem = refused.json()
        assert (refused.status_code, problem["code"]) == (422, "not_comparable")
        assert "2 items" in problem["detail"]
        assert "'item-1', 'item-4'" in problem["detail"]
        assert "allow_different=content" in problem["errors"][0]["fix"]
        assert SECRET not in refused.text
        assert digests()[1] not in refused.text
        told.append({name: problem[name] for name in ("code", "detail", "errors")})
    assert told[0] == told[1]
    assert service.client.get(path(prereg_id, "progress")).json()["batches"] == 0


def test_other_items_that_are_allowed_are_in_answer_ledger_verdict_and_bundle(service: Service) -> None:
    prereg_id = pinned(service)
    assert send(service, prereg_id, table(*[0] * N), arm="A").status_code == 201
    file = table(*[1] * N, other=(1, 4))
    sent = send(service, prereg_id, file, arm="B", allow_different="content")
    assert sent.status_code == 201, sent.text
    told = sent.json()["batches"][0]
    assert (told["content_differs"], told["content_differs_ids"]) == (2, ["item-1", "item-4"])
    judged = verdict(service, prereg_id)
    (mark,) = judged["marks"]
    assert (mark["code"], mark["effect"], mark["batches"]) == ("content_differs", "flag", [2])
    assert "1 batch has items of other content" in mark["says"]
    assert "at most 2 items" in mark["says"]
    assert mark["says"] in judged["hypotheses"][0]["sentence"]
    for language, word in (("en", "other content"), ("zh", "内容与锁定清单不同")):
        assert word in service.client.get(path(prereg_id, "report.md"), params={"lang": language}).text
    data = bundle(service, prereg_id)
    assert failures(checked(data)) == []


def test_files_without_contents_are_noted_and_taken(service: Service) -> None:
    prereg_id = pinned(service)
    told = [
        send(service, prereg_id, file, arm=arm).json()["batches"][0]
        for arm, file in (("A", rows(*[0] * N)), ("B", table(*[1] * N, bare=(0, 2))))
    ]
    assert [each["content_unknown"] for each in told] == [N, 2]
    assert [each["content_differs"] for each in told] == [0, 0]
    assert "marks" not in verdict(service, prereg_id)


def test_no_other_aspect_can_be_allowed(service: Service) -> None:
    refused = send(service, pinned(service), table(*[0] * N), arm="A", allow_different="judge")
    assert (refused.status_code, refused.json()["errors"][0]["path"]) == (422, "query.allow_different")


def test_a_log_is_held_against_its_own_earlier_run(service: Service) -> None:
    file = folder("inspect") / "baseline.eval"
    section = '{"format": "inspect", "scorer": "match", "arm": "metadata.arm"}'
    read = service.client.post(
        "/v1/imports/check",
        params={"format": "inspect", "section": section},
        content=file.read_bytes(),
        headers={"Content-Type": "application/octet-stream"},
    ).json()
    contents = dict(zip(read["table"][0]["item_ids"], read["table"][0]["contents"], strict=True))
    assert all(len(digest) == 64 for digest in contents.values())
    columns: dict[str, Any] = manifest()
    columns["content_sha256"] = [contents[normalize("NFC", item_id)] for item_id in columns["item_ids"]]
    same = locked(service.client, imported_plan(), {"p": columns})
    assert send(service, same, file).status_code == 201
    columns["content_sha256"][3] = "0" * 64
    other = locked(service.client, imported_plan(), {"p": columns})
    refused = send(service, other, file)
    assert refused.json()["code"] == "not_comparable"
    assert (
        f"1 items have other content than the plan is locked to: '{columns['item_ids'][3]}'" in refused.text
    )
