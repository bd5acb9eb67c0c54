"""Result files of a harness, from the lock to the verdict: what is stored, what is told, and what is not."""

from __future__ import annotations

import io
import stat
import zipfile
from typing import Any

import pytest

from tests.ingest.truth import folder, truth
from tests.journeys.imported import NAMES, locked_plan, manifest, progress, rows, send

from .conftest import Service
from .plans import draft, items, lock, locked, small_plan

pytestmark = pytest.mark.any_database


def table_plan(service: Service, n: int = 8, missing: str = "fail", **mapping: Any) -> str:
    made = small_plan(n, missing=missing) | {"import": {"format": "csv", **mapping}}
    return locked(service.client, made)


def test_two_logs_to_a_verdict(service: Service) -> None:
    prereg_id = locked_plan(service)
    first = send(service, prereg_id, folder("inspect") / "baseline.eval", format="inspect")
    assert first.status_code == 201, first.text
    assert first.json()["batches"][0] | {"receipt": None} == {
        "arm": "A",
        "endpoint": "accuracy",
        "rows": 96,
        "unknown": 0,
        "unknown_ids": [],
        "missing": 0,
        "missing_ids": [],
        "card_differs": [],
        "content_differs": 0,
        "content_differs_ids": [],
        "content_unknown": 0,
        "batch": 1,
        "n": 96,
        "skipped": 0,
        "receipt": None,
    }
    second = send(
        service, prereg_id, folder("inspect") / "candidate.eval", on_duplicate="skip", complete=True, arm="B"
    )
    report = second.json()
    assert (report["batches"][0]["missing"], report["batches"][0]["missing_ids"]) == (2, ["item-044"])
    assert (report["state"], report["received"], report["number"]) == ("complete", 192, 2)
    listed = service.client.get(f"/v1/preregistrations/{prereg_id}/imports").json()["items"]
    assert [each["sha256"] for each in listed] == [None, None]
    service.run_jobs()
    stored = service.client.get(f"/v1/preregistrations/{prereg_id}/results", params={"limit": 200}).json()[
        "items"
    ]
    wanted = {}
    for arm in ("baseline", "candidate"):
        there, absent = truth("inspect", f"{arm}.eval", arm, "match")
        wanted |= {(item, NAMES[arm], n): row[:2] for (item, _, n), row in (there | absent).items()}
    assert {
        (row["item_id"], row["arm"], row["replicate"]): (row["value"], row["status"]) for row in stored
    } == wanted
    listed = service.client.get(f"/v1/preregistrations/{prereg_id}/imports").json()["items"]
    assert listed[0]["size"] == (folder("inspect") / "candidate.eval").stat().st_size
    assert listed[0]["statuses"] == {"ok": 92, "error": 2, "missing": 0}
    assert all(len(each["sha256"]) == 64 for each in listed)


def test_answers_are_the_same_whatever_the_values(service: Service) -> None:
    answers = []
    for values in ([1, 1, 1, 1], [0, 0, 0, 0]):
        prereg_id = table_plan(service)
        sent = [
            send(service, prereg_id, rows(*values), arm="A"),
            send(service, prereg_id, rows(*reversed(values)), arm="A", on_duplicate="skip"),
            send(service, prereg_id, rows(*values), arm="A"),
            service.client.get(f"/v1/preregistrations/{prereg_id}/imports"),
        ]
        shown = [each.json() for each in sent]
        shown[0]["batches"][0]["receipt"] = None
        for each in shown[3]["items"]:
            each["received_at"] = each["key_id"] = None
        answers.append(
            ([each.status_code for each in sent], shown, [len(each.content) for each in sent[1:3]])
        )
    assert answers[0] == answers[1]
    assert answers[0][0] == [201, 201, 409, 200]


def test_error_and_a_value_answer_alike_under_fail(service: Service) -> None:
    told = []
    for cell in ("1", ""):
        prereg_id = table_plan(service, unscored="error")
        sent = send(service, prereg_id, rows(1, 0, 1, cell), arm="A").json()
        sent["batches"][0]["receipt"] = None
        told.append((sent, progress(service, prereg_id)))
    assert told[0] == told[1]


def test_import_is_repeated_safely(service: Service) -> None:
    prereg_id = table_plan(service)
    first = send(service, prereg_id, rows(1, 0, 1, 0), arm="A", key="k")
    again = send(service, prereg_id, rows(0, 0, 0, 0), arm="A", key="k")
    assert (again.status_code, again.json()) == (201, first.json())
    assert again.headers["Idempotency-Replayed"] == "true"
    other = send(service, prereg_id, rows(1, 0, 1), arm="A", key="k")
    assert other.status_code == 422
    assert progress(service, prereg_id)["batches"] == 1


def test_part_that_is_in_is_left_out_and_the_rest_is_stored(service: Service) -> None:
    prereg_id = table_plan(service)
    send(service, prereg_id, rows(1, 0), arm="A")
    sent = send(service, prereg_id, rows(0, 1, 1, 1), arm="A", on_duplicate="skip").json()["batches"][0]
    assert (sent["rows"], sent["n"], sent["skipped"], sent["missing"]) == (4, 2, 2, 4)
    refused = send(service, prereg_id, rows(0, 1, 1, 1), arm="A")
    assert (refused.status_code, refused.json()["code"]) == (409, "duplicate_results")


@pytest.mark.parametrize(
    ("content", "query", "status", "path"),
    [
        (b"item_id,value\nitem-0,1\nnobody,1\n", {"arm": "A"}, 422, "import.item_id"),
        (b"item_id,value\nitem-0,0.5\n", {"arm": "A"}, 422, "import.values"),
        (b"item_id,value\nitem-0,nan\n", {"arm": "A"}, 422, "import.values"),
        (b"item_id,score\nitem-0,1\n", {"arm": "A"}, 422, "import.metric"),
        (b"item_id,value\nitem-0,1\n", {}, 422, "import.arm"),
        (b"item_id,value\nitem-0,1\n", {"arm": "C"}, 422, "query.arm"),
        (b"item_id,value\nitem-0,1\n", {"arm": "A", "format": "inspect"}, 422, "query.format"),
        (b"item_id,value\nitem-0,1\n", {"arm": "A", "population": "q"}, 422, "query.population"),
        (b"item_id,value\nitem-0,1\n", {"arm": "A", "complete": True}, 422, "query.complete"),
        (b"item_id,value\n\xff,1\n", {"arm": "A"}, 400, None),
        (b"PK\x05\x06" + b"\0" * 18, {"arm": "A"}, 422, ""),
        (b"", {"arm": "A"}, 422, ""),
    ],
)
def test_what_does_not_fit_is_refused_whole(
    service: Service, content: bytes, query: Any, status: int, path: Any
) -> None:
    prereg_id = table_plan(service)
    refused = send(service, prereg_id, content, **query)
    assert refused.status_code == status, refused.text
    assert [each["path"] for each in refused.json()["errors"]] == ([] if path is None else [path])
    assert progress(service, prereg_id)["batches"] == 0
    assert service.client.get(f"/v1/preregistrations/{prereg_id}/imports").json()["items"] == []


def test_second_arm_that_does_not_fit_leaves_the_first_out_too(service: Service) -> None:
    prereg_id = table_plan(service, arm="who")
    send(service, prereg_id, b"item_id,value,who\nitem-0,1,B\n")
    both = b"item_id,value,who\nitem-0,1,A\nitem-0,1,B\n"
    assert send(service, prereg_id, both).status_code == 409
    assert progress(service, prereg_id)["received"] == 1
    assert send(service, prereg_id, both, on_duplicate="skip").json()["received"] == 2


def test_clusters_of_a_file_have_to_be_the_manifests(service: Service) -> None:
    prereg_id = locked_plan(service, cluster_key=None, cluster="metadata.index")
    refused = send(service, prereg_id, folder("inspect") / "baseline.eval")
    assert (refused.status_code, refused.json()["code"]) == (422, "import_clusters_differ")


def test_plan_without_a_mapping_imports_nothing(service: Service) -> None:
    prereg_id = locked(service.client, small_plan(8))
    refused = send(service, prereg_id, rows(1), arm="A")
    assert (refused.status_code, refused.json()["code"]) == (422, "import_unmapped")


def test_mapping_that_cannot_be_applied_does_not_lock(service: Service) -> None:
    prereg_id = draft(service.client, small_plan(8) | {"import": {"format": "inspect"}})
    refused = lock(service.client, prereg_id)
    assert (refused.status_code, refused.json()["code"]) == (422, "lint_failed")
    assert "import.scorer" in {each["path"] for each in refused.json()["errors"]}


def test_run_of_several_files_comes_as_an_archive(service: Service) -> None:
    made = small_plan(48) | {
        "import": {
            "format": "mlflow",
            "metric": "exact",
            "item_id": "inputs.item_id",
            "cluster": "tags.topic",
        }
    }
    prereg_id = locked(service.client, made, {"p": {"item_ids": manifest()["item_ids"]}})
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name in ("baseline_run.json", "baseline_traces_1.json", "baseline_traces_2.json"):
            archive.write(folder("mlflow") / name, name)
    sent = send(service, prereg_id, packed.getvalue(), arm="A")
    assert (sent.status_code, sent.json()["received"]) == (201, 48), sent.text


def test_missing_rows_are_listed_for_who_writes(service: Service) -> None:
    prereg_id = table_plan(service, missing="exclude_pair")
    send(service, prereg_id, rows(1, 0), arm="A")
    writer = {"Authorization": f"Bearer {service.key('results:write')}"}
    url = f"/v1/preregistrations/{prereg_id}/progress"
    seen, cursor = [], None
    while True:
        query = {"missing": "true", "limit": 4} | ({"cursor": cursor} if cursor else {})
        page = service.client.get(url, params=query, headers=writer).json()
        seen += [(row["arm"], row["item_id"]) for row in page["missing"]["items"]]
        assert page["status_counts"] is None
        if (cursor := page["missing"]["next_cursor"]) is None:
            break
    assert seen == [("A", each) for each in items(8)[2:]] + [("B", each) for each in items(8)]
    assert service.client.get(url, headers=writer).status_code == 403
    of_one = progress(service, prereg_id, missing="true", arm="A")["missing"]["items"]
    assert [row["item_id"] for row in of_one] == items(8)[2:]
    assert progress(service, prereg_id)["missing"] is None


def test_rows_keep_their_run_and_their_times(service: Service) -> None:
    prereg_id = table_plan(service, observed_at="at")
    lines = [
        "item_id,value,at",
        "item-0,1,2026-11-21T10:00:00.25+01:00",
        *(f"item-{n},1," for n in range(1, 8)),
    ]
    for arm in "AB":
        sent = send(service, prereg_id, "\n".join(lines).encode(), arm=arm, run="nightly")
        assert sent.status_code == 201, sent.text
    service.run_jobs()
    stored = service.client.get(f"/v1/preregistrations/{prereg_id}/results").json()["items"]
    assert {row["run"] for row in stored} == {"nightly"}
    assert {(row["item_id"], row["observed_at"]) for row in stored} == {
        ("item-0", "2026-11-21T09:00:00.250000Z"),
        *((f"item-{n}", None) for n in range(1, 8)),
    }


def test_run_that_is_no_name_is_refused(service: Service) -> None:
    refused = send(service, table_plan(service), rows(1), arm="A", run="a\0b")
    assert (refused.status_code, refused.json()["errors"][0]["path"]) == (422, "query.run")


def test_limits_of_imports_are_told(service: Service) -> None:
    told = service.client.get("/v1/limits").json()
    assert told["import_bytes"] == service.settings.max_import_bytes
    assert (told["import_inflated_bytes"], told["import_entry_bytes"]) == (2 << 30, 256 << 20)
    assert (told["import_entries"], told["import_ratio"], told["import_seconds"]) == (200_000, 200, 300)


def test_scratch_is_for_its_user_and_nothing_stays_in_it(service: Service) -> None:
    prereg_id = table_plan(service)
    send(service, prereg_id, rows(1, 0), arm="A")
    scratch = service.settings.data_dir / "scratch"
    assert stat.S_IMODE(scratch.stat().st_mode) == 0o700
    assert list(scratch.iterdir()) == []


def test_file_beyond_the_limit_is_refused_before_it_is_read(service: Service) -> None:
    prereg_id = table_plan(service)
    most = service.settings.max_import_bytes
    refused = service.client.post(
        f"/v1/preregistrations/{prereg_id}/imports?arm=A",
        content=b"x",
        headers={"Idempotency-Key": "k", "Content-Type": "text/csv", "Content-Length": str(most + 1)},
    )
    assert refused.status_code == 413


def test_imports_are_kept_for_good(service: Service) -> None:
    prereg_id = table_plan(service)
    send(service, prereg_id, rows(1, 0), arm="A")
    import sqlalchemy as sa

    for statement in ("UPDATE imports SET number = 7", "DELETE FROM imports"):
        with pytest.raises(sa.exc.DBAPIError), service.database.write() as session:
            session.execute(sa.text(statement))
