"""Experiments fetched from trackers: a server that answers as each of them documents it, and one that does not."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from forelock import bounded_requests
from forelock.import_files import imports_of
from forelock.problem import FileFault
from forelock.trackers import asking
from forelock.trackers.fetching import fetch_experiment
from forelock.trackers.providers import PROVIDERS
from service.errors import ForelockError
from tests.ingest.bases import BASES
from tests.ingest.truth import mapping_of, read, table
from tests.loopback import Asked, serving

KEYS = {
    "LANGFUSE_PUBLIC_KEY": "pk-1", "LANGFUSE_SECRET_KEY": "sk-secret", "LANGSMITH_API_KEY": "ls-secret",
    "BRAINTRUST_API_KEY": "bt-secret", "WANDB_API_KEY": "wb-secret", "OPENAI_API_KEY": "oa-secret",
    "OPIK_API_KEY": "op-secret", "PHOENIX_API_KEY": "px-secret",
}  # fmt: skip
SECRETS = [value for name, value in KEYS.items() if name != "LANGFUSE_PUBLIC_KEY"]


def copies(record: dict[str, Any], count: int, **ids: Callable[[int], Any]) -> list[dict[str, Any]]:
    """So many records that differ in these members."""
    return [{**record, **{name: made(number) for name, made in ids.items()}} for number in range(count)]


LANGFUSE = copies(
    BASES["langfuse"].documents["page.json"]["data"][0], 150, experimentItemId=lambda n: f"i{n}"
)
EXAMPLES = copies(BASES["langsmith runs"].documents["runs.json"][0], 150, id=lambda n: f"i{n}")
RUNS = copies(BASES["phoenix"].documents["runs.json"][0], 150, example_id=lambda n: f"i{n}")
EVENTS = copies(BASES["braintrust events"].documents["page.json"]["events"][0], 150, input=lambda n: f"q{n}")
ITEMS = copies(
    BASES["openai_eval_runs"].documents["page.json"]["data"][0],
    150,
    datasource_item_id=lambda n: n,
    id=lambda n: f"o{n}",
)
CALLS = [
    {
        **BASES["weave"].documents["calls.jsonl"][1],
        "inputs": {"model": "baseline", "example": {"id": f"i{n}"}},
    }
    for n in range(150)
]
OPIK = [
    {
        "id": f"i{n}",
        "data": {"topic": "a"},
        "experiment_items": [
            {"id": f"x{n}", "dataset_item_id": f"i{n}", "feedback_scores": [{"name": "exact", "value": 1}]}
        ],
    }
    for n in range(150)
]


def answered(asked: Asked) -> Any:
    """What the trackers answer, by path; None: not known."""
    parts = urlsplit(asked.path)
    query = {name: values[0] for name, values in parse_qs(parts.query).items()}
    sent = json.loads(asked.body) if asked.body else {}
    path = parts.path
    if path == "/api/public/experiment-items":
        assert query["experimentName"] == "mine"
        assert "scores" in query["fields"]
        start = int(query.get("cursor", 0))
        more = {"cursor": str(start + 100)} if start + 100 < len(LANGFUSE) else {}
        return {"data": LANGFUSE[start : start + 100], "meta": {"limit": 100, **more}}
    if path == "/sessions":
        return [{"id": "s", "name": query["name"], "reference_dataset_id": "d"}]
    if path == "/datasets/d/runs":
        assert sent["session_ids"] == ["s"]
        return EXAMPLES[sent["offset"] : sent["offset"] + sent["limit"]]
    if path == "/v1/experiments/mine":
        return {"data": {"id": "mine", "metadata": {"arm": "baseline"}, "missing_run_count": 0}}
    if path == "/v1/experiments/mine/json":
        return RUNS
    if path == "/v1/private/experiments/mine":
        return {"id": "mine", "name": "baseline", "dataset_id": "d", "status": "completed"}
    if path == "/v1/private/datasets/d/items/experiments/items":
        start = (int(query["page"]) - 1) * int(query["size"])
        assert json.loads(query["experiment_ids"]) == ["mine"]
        return {"page": int(query["page"]), "total": 150, "content": OPIK[start : start + int(query["size"])]}
    if path == "/v1/experiment/mine/fetch":
        start = int(sent.get("cursor", 0))
        events = EVENTS[start : start + sent["limit"]]
        return {"events": events, "cursor": str(start + len(events)) if events else None}
    if path == "/calls/stream_query":
        assert sent["project_id"] == "e/p"
        assert sent["filter"] == {"parent_ids": ["c"]}
        return CALLS[sent["offset"] : sent["offset"] + sent["limit"]]
    if path == "/evals/e/runs/r":
        return {"object": "eval.run", "id": "r", "status": "completed", "model": "baseline"}
    if path == "/evals/e/runs/r/output_items":
        start = next((at + 1 for at, item in enumerate(ITEMS) if item["id"] == query.get("after")), 0)
        page = ITEMS[start : start + int(query["limit"])]
        return {
            "object": "list",
            "data": page,
            "last_id": page[-1]["id"],
            "has_more": start + len(page) < len(ITEMS),
        }
    return None


def reply(asked: Asked) -> tuple[int, dict[str, str], bytes]:
    document = answered(asked)
    if document is None:
        return 404, {}, b"{}"
    if asked.path.startswith("/calls/"):
        return (
            200,
            {"Content-Type": "application/x-ndjson"},
            b"".join(json.dumps(c).encode() + b"\n" for c in document),
        )
    return 200, {"Content-Type": "application/json"}, json.dumps(document).encode()


@pytest.mark.parametrize(
    ("name", "experiment", "mapping"),
    [
        ("langfuse", "mine", {"format": "langfuse", "arm": "experimentName"}),
        ("langsmith", "mine", {"format": "langsmith", "arm": "session_id"}),
        ("phoenix", "mine", {"format": "phoenix", "arm": "metadata.arm"}),
        ("opik", "mine", {"format": "opik", "arm": "name"}),
        ("braintrust", "mine", {"format": "braintrust", "arm": "metadata.arm"}),
        ("weave", "e/p/c", {"format": "weave", "item_id": "example.id", "arm": "model"}),
        ("openai", "e/r", {"format": "openai_eval_runs", "arm": "model"}),
    ],
)
def test_experiment_of_two_pages_is_fetched_and_read(tmp_path, name, experiment, mapping):
    with serving() as server:
        server.reply = reply
        paths = fetch_experiment(name, experiment, tmp_path, server.url(""), environment=KEYS)
    mapping = mapping_of(metric="exact", **mapping)
    form, (one,) = imports_of([str(path) for path in paths], mapping.format)
    rows = table(read(one.paths, mapping, "exact"), "baseline")
    assert form == mapping.format
    assert len(rows) == 150
    assert {row[:2] for row in rows.values()} == {(1.0, "ok")}
    assert all("secret" not in path.read_text() for path in paths)
    assert all(secret not in asked.path for asked in server.requests for secret in SECRETS)
    assert all(
        asked.headers.get("authorization") or asked.headers.get("x-api-key") for asked in server.requests
    )


@pytest.mark.parametrize("name", ["langfuse", "langsmith", "braintrust", "weave", "openai"])
def test_key_that_is_not_set_is_named_and_nothing_is_asked(tmp_path, name):
    with pytest.raises(FileFault, match="in the environment"):
        fetch_experiment(name, "e/p/c", tmp_path, "https://tracker.test", environment={}, transport=never())


@pytest.mark.parametrize(
    "address",
    [
        "http://tracker.test",
        "ftp://tracker.test",
        "tracker.test",
        "http://10.0.0.1",
        "https://me:secret@tracker.test",
    ],
)
def test_key_is_sent_over_https_alone(tmp_path, address):
    with pytest.raises(FileFault) as refused:
        fetch_experiment("braintrust", "x", tmp_path, address, environment=KEYS, transport=never())
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("name", PROVIDERS)
@pytest.mark.parametrize(
    ("status", "headers", "content", "said"),
    [
        (302, {"Location": "http://169.254.169.254/latest"}, b"", "not followed"),
        (401, {}, b"bt-secret", "set "),
        (404, {}, b"", "no such experiment"),
        (500, {}, b"<html>", "500"),
        (200, {}, b"<html>", ""),
        (200, {}, b"[" * 100_000, ""),
        (200, {}, b"null", ""),
        (200, {}, b'{"data": 3, "id": 4}', ""),
    ],
)
def test_answer_that_is_none_is_refused_in_a_sentence(tmp_path, name, status, headers, content, said):
    requests = []

    def answer(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return httpx.Response(status, headers=headers, content=content)

    experiment = {"weave": "e/p/c", "openai": "e/r"}.get(name, "mine")
    try:
        paths = fetch_experiment(
            name,
            experiment,
            tmp_path,
            "https://t.test",
            environment=KEYS,
            transport=httpx.MockTransport(answer),
        )
    except FileFault as refused:
        assert said in str(refused)
        assert not any(secret in str(refused) for secret in SECRETS)
    else:
        assert status == 200
        with pytest.raises(ForelockError):
            read(
                paths,
                mapping_of(metric="exact", format={"openai": "openai_eval_runs"}.get(name, name)),
                "exact",
                arm="a",
            )
    assert {request.url.host for request in requests} == {"t.test"}


HALF = b'"\\ud800"'


@pytest.mark.parametrize("name", list(PROVIDERS))
@pytest.mark.parametrize(
    "content",
    [
        b'{"content": [HALF], "events": [HALF], "data": [HALF], "total": 1, "dataset_id": "d"}',
        b'{"content": [], "events": [1], "dataset_id": HALF, "meta": {"cursor": HALF}, "cursor": HALF}',
        b'{"has_more": true, "last_id": HALF, "dataset_id": HALF}',
        b'[{"id": HALF, "reference_dataset_id": HALF}]',
    ],
)
def test_halves_of_characters_end_in_a_file_or_in_a_sentence(tmp_path, monkeypatch, name, content):
    monkeypatch.setattr(asking, "MOST_PAGES", 3)
    answers = httpx.MockTransport(lambda _: httpx.Response(200, content=content.replace(b"HALF", HALF)))
    experiment = {"weave": "e/p/c", "openai": "e/r"}.get(name, "mine")
    with suppress(FileFault):
        fetch_experiment(name, experiment, tmp_path, "https://t.test", environment=KEYS, transport=answers)
    for path in tmp_path.iterdir():
        assert path.read_bytes().isascii()


@pytest.mark.parametrize("name", list(PROVIDERS))
@pytest.mark.parametrize("key", ["clé", "a\nb: c", "\udcff"])
def test_key_that_cannot_be_one_is_named_by_its_variable(tmp_path, name, key):
    keys = dict.fromkeys([*KEYS, "PHOENIX_API_KEY", "OPIK_API_KEY"], key)
    with pytest.raises(FileFault, match=r"_KEY.* in the environment holds characters") as refused:
        fetch_experiment(name, "e/p/c", tmp_path, "https://t.test", environment=keys, transport=never())
    assert key not in str(refused.value)


def test_name_of_an_experiment_that_is_no_text_is_refused(tmp_path):
    for name in PROVIDERS:
        with pytest.raises(FileFault, match="no text"):
            fetch_experiment(
                name, "e/p/\udcff", tmp_path, "https://t.test", environment=KEYS, transport=never()
            )


def test_experiment_that_drips_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(bounded_requests, "MOST_SECONDS", -1.0)
    with pytest.raises(FileFault, match="did not come whole"):
        fetch_experiment("braintrust", "x", tmp_path, "https://t.test", environment=KEYS, transport=never())


def test_experiment_larger_than_an_import_and_one_that_never_ends_are_refused(tmp_path, monkeypatch):
    page = json.dumps({"events": [{"input": "x"}], "cursor": "again"}).encode()
    endless = httpx.MockTransport(lambda _request: httpx.Response(200, content=page))
    monkeypatch.setattr(asking, "MOST_PAGES", 5)
    with pytest.raises(FileFault, match="pages"):
        fetch_experiment("braintrust", "x", tmp_path, "https://t.test", environment=KEYS, transport=endless)
    monkeypatch.setattr(bounded_requests, "MOST_BYTES", 100)
    with pytest.raises(FileFault, match="larger"):
        fetch_experiment("braintrust", "x", tmp_path, "https://t.test", environment=KEYS, transport=endless)


def never() -> httpx.MockTransport:
    def refuse(_request: httpx.Request) -> httpx.Response:
        raise AssertionError("asked")

    return httpx.MockTransport(refuse)
