"""Channels of imports, and of arms that a plan leaves open: records that differ in outcomes alone are compared."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from typing import Any

from .channels import CARDS, ON_PAGES, ONE, OTHER, N, masked, name, seen, stored
from .conftest import Service
from .plans import items, locked, post, small_plan


def left_open(service: Service) -> None:
    """Results of an arm that nobody named are refused, and naming it is answered, whatever is in."""
    refused, named = set(), set()
    mapping = {"format": "csv"}
    both = [locked(service.client, small_plan(N, arms=CARDS) | {"import": mapping}) for _ in range(2)]
    for prereg_id, values in zip(both, (ONE, OTHER), strict=True):
        assert post(service.client, prereg_id, "A", items(N), values).status_code == 201
        file = service.client.post(
            f"/v1/preregistrations/{prereg_id}/imports?arm=B",
            content=table(values),
            headers={"Idempotency-Key": prereg_id, "Content-Type": "application/octet-stream"},
        )
        answers = [post(service.client, prereg_id, "B", items(N), values), file]
        assert [answer.json()["code"] for answer in answers] == ["arm_unnamed"] * 2
        refused.add(tuple(masked(answer, prereg_id) for answer in answers))
        twice = name(service, prereg_id), name(service, prereg_id)
        assert [answer.status_code for answer in twice] == [200, 409]
        named.add(tuple(ON_PAGES.sub("…", masked(answer, prereg_id)) for answer in twice))
    assert len(refused) == len(named) == 1


def imported(service: Service) -> None:
    """The report of a file, the list of imports, and how long what is sealed of it is."""
    for mapping, arm, card, content in FILES:
        _imported(service, mapping, arm, card, content)


def kept(service: Service) -> None:
    """Kept files before the verdict: how long they are, and what their routes answer, also where there is none."""
    lengths, told = set(), set()
    for values in (ONE, [1] * N, [0.125] * N, None):
        prereg_id = locked(service.client, CONTINUOUS)
        if values is not None:
            sent = service.client.post(
                f"/v1/preregistrations/{prereg_id}/imports?arm=A",
                content=table(values),
                headers={"Idempotency-Key": prereg_id, "Content-Type": "application/octet-stream"},
            )
            assert sent.status_code == 201, sent.text
            (row,) = [row for row in stored(service, "artefacts") if row["preregistration_id"] == prereg_id]
            name = row["object_sha256"]
            content = (service.settings.data_dir / "artefacts" / name[:2] / name).read_bytes()
            assert b"item-" not in content
            lengths.add((row["stored_bytes"], len(content)))
        answers = [
            service.client.get(f"/v1/preregistrations/{prereg_id}/artefacts{at}") for at in ("", "/1", "/2")
        ]
        told.add(tuple(masked(answer, prereg_id) for answer in answers))
    assert len(lengths) == len(told) == 1


CONTINUOUS = small_plan(
    N,
    endpoints=[{"id": "accuracy", "kind": "continuous", "role": "primary"}],
    sesoi={"accuracy": {"value": 2, "unit": "score"}},
    hypotheses=[small_plan()["hypotheses"][0] | {"rule": "delta >= 0.5"}],
) | {"import": {"format": "csv"}}


def pinned(service: Service) -> None:
    """What is said of items of other content than the list pins, refused and let in, over all routes."""
    pins = [hashlib.sha256(f'["question {at}","{at}"]'.encode()).hexdigest() for at in range(N)]
    made = small_plan(N, arms=CARDS) | {"import": {"format": "csv"}}
    records = [
        locked(service.client, made, {"p": {"item_ids": items(N), "content_sha256": pins}}) for _ in range(2)
    ]
    told, shown = set(), []
    for prereg_id, outcomes in zip(records, (ONE, OTHER), strict=True):
        lines = [f"item-{at},{value},question {at // 3},{at}" for at, value in enumerate(outcomes)]
        answers = [
            service.client.post(
                f"/v1/preregistrations/{prereg_id}/imports?arm=A{allowed}",
                content="\n".join(["item_id,value,question,target", *lines]).encode(),
                headers={"Idempotency-Key": prereg_id + allowed, "Content-Type": "application/octet-stream"},
            )
            for allowed in ("", "&allow_different=content")
        ]
        assert [answer.status_code for answer in answers] == [422, 201], answers[-1].text
        assert answers[-1].json()["batches"][0]["content_differs"] == N - 1
        told.add(tuple(masked(answer, prereg_id) for answer in answers))
        shown.append(seen(service, prereg_id))
    assert len(told) == 1
    assert shown[0] == shown[1]


def table(outcomes: Sequence[float]) -> bytes:
    """A file that says nothing of its system."""
    return "\n".join(["item_id,value", *(f"item-{i},{value}" for i, value in enumerate(outcomes))]).encode()


def of_another_system(outcomes: list[int]) -> bytes:
    """A file of promptfoo whose provider is not the one that the card describes."""
    rows = [
        {
            "promptIdx": 0, "testIdx": i, "provider": {"id": "another"}, "prompt": {"raw": "{{question}}"},
            "testCase": {"metadata": {"item_id": f"item-{i}"}}, "success": bool(value), "score": value,
            "namedScores": {"exact": value},
        }
        for i, value in enumerate(outcomes)
    ]  # fmt: skip
    # `true` and `false` differ in length, and the size of a file is told
    for row in rows:
        row["padding"] = "" if not row["success"] else "-"
    return json.dumps({"results": {"version": 3, "results": rows}}).encode()


OF_PROMPTFOO = {"format": "promptfoo", "metric": "exact", "item_id": "testCase.metadata.item_id"}
FILES: tuple[tuple[dict[str, Any], str, list[str], Callable[[list[int]], bytes]], ...] = (
    ({"format": "csv"}, "A", [], table),
    (OF_PROMPTFOO, "A", ["model.name"], of_another_system),
    (OF_PROMPTFOO, "B", ["model.name"], of_another_system),
)
"""How a file is read, whose it is, which fields of that arm's card, locked or named, it differs in, and its bytes."""


def _imported(
    service: Service,
    mapping: dict[str, Any],
    arm: str,
    differs: list[str],
    content: Callable[[list[int]], bytes],
) -> None:
    answers, lengths = set(), set()
    for outcomes in (ONE, [1] * N):
        prereg_id = locked(service.client, small_plan(N) | {"import": mapping, "arms": CARDS})
        assert name(service, prereg_id).status_code == 200
        report = service.client.post(
            f"/v1/preregistrations/{prereg_id}/imports?arm={arm}&format={mapping['format']}",
            content=content(outcomes),
            headers={"Idempotency-Key": prereg_id, "Content-Type": "application/octet-stream"},
        )
        assert report.status_code == 201, report.text
        assert [batch["card_differs"] for batch in report.json()["batches"]] == [differs]
        listed = service.client.get(f"/v1/preregistrations/{prereg_id}/imports")
        marks = service.client.get(f"/v1/preregistrations/{prereg_id}/runs")
        answers.add(tuple(masked(answer, prereg_id) for answer in (report, listed, marks)))
        (row,) = [each for each in stored(service, "imports") if each["preregistration_id"] == prereg_id]
        lengths.add(len(row["sealed"]))
    assert len(answers) == 1
    assert len(lengths) == 1
