"""`forelock labels`: a list to fill in, and what was filled in on its way."""

from __future__ import annotations

import json

LABEL = {"population": "p", "endpoint": "accuracy.audit", "received": False}
ASKED = [
    LABEL | {"arm": "B", "item_id": "q2"},
    LABEL | {"arm": "A", "item_id": "q2", "received": True},
    LABEL | {"arm": "A", "item_id": "q 1, or so"},
]
FIRST, LAST = {"items": ASKED[:2], "next_cursor": "0-2"}, {"items": ASKED[2:], "next_cursor": None}
RECEIPT = {
    "batch": 1,
    "n": 1,
    "skipped": 0,
    "received": 3,
    "expected": 6,
    "state": "collecting",
    "receipt": None,
}


def test_the_list_comes_in_its_order_without_what_is_in(service, command):
    service.will_answer(200, FIRST)
    service.will_answer(200, LAST)
    status, output, errors = command("labels", "p1")
    assert status == 0
    assert output.splitlines() == [
        "population,arm,endpoint,item_id,value",
        "p,B,accuracy.audit,q2,",
        'p,A,accuracy.audit,"q 1, or so",',
    ]
    assert "2 of 3 labels are not in yet" in errors
    assert [request.url.params.get("cursor") for request in service.requests] == [None, "0-2"]


def test_as_json_and_all_of_one_arm(service, command):
    service.will_answer(200, {"items": ASKED[1:], "next_cursor": None})
    status, output, _ = command("labels", "p1", "--arm", "A", "--all", "--json")
    assert (status, json.loads(output)) == (0, ASKED[1:])
    assert service.requests[0].url.params["arm"] == "A"


def test_rows_that_nobody_filled_in_stay_at_home(service, command, tmp_path):
    file = tmp_path / "labels.csv"
    file.write_text(
        'population,arm,endpoint,item_id,value\np,B,accuracy.audit,q2,1\np,A,accuracy.audit,"q 1, or so",\n'
    )
    service.will_answer(200, FIRST)
    service.will_answer(200, LAST)
    service.will_answer(201, RECEIPT)
    status, output, _ = command("labels", "p1", "--post", str(file))
    assert (status, output) == (0, "1 labels posted\n")
    sent = service.sent()
    assert (sent["arm"], sent["endpoint"], sent["item_ids"], sent["values"]) == (
        "B",
        "accuracy.audit",
        ["q2"],
        [1],
    )
    assert sent["on_duplicate"] == "skip"
    assert service.requests[-1].url.path == "/v1/preregistrations/p1/results"


def test_results_of_another_endpoint_are_no_labels(service, command, tmp_path):
    file = tmp_path / "labels.csv"
    file.write_text("arm,endpoint,item_id,value\nB,accuracy,q2,1\n")
    service.will_answer(200, FIRST)
    service.will_answer(200, LAST)
    status, _, errors = command("labels", "p1", "--post", str(file))
    assert status == 2
    assert "'accuracy' is no endpoint that people label; they label accuracy.audit" in errors
    assert len(service.requests) == 2, "nothing was posted"
