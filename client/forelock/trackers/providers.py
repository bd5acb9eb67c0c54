"""How an experiment is fetched from each tracker: its address, its keys, its pages, and the files that they become."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from forelock.problem import FileFault
from forelock.trackers.asking import Asking, member, pages, require_variables

PAGE = 100
Fetched = Iterator[tuple[str, Any]]
"""Names of files with what they hold: a document, or a list of lines where the name ends in .jsonl."""


@dataclass(frozen=True, slots=True)
class Provider:
    """How one tracker is asked for its experiments."""

    fetch: Callable[[Asking, str], Fetched]
    experiment: str
    """What is named: for the help of the command."""
    address: str
    variables: tuple[str, ...]
    """Those that may hold the address, the first that is set."""
    keys: str
    """Those that hold the key, for a refusal."""
    sign: Callable[[Mapping[str, str]], dict[str, Any]]
    """Headers or a pair for basic authentication, as arguments of `Asking`."""


def _bearer(name: str) -> Callable[[Mapping[str, str]], dict[str, Any]]:
    def sign(environment: Mapping[str, str]) -> dict[str, Any]:
        (key,) = require_variables(environment, name)
        return {"headers": {"Authorization": f"Bearer {key}"}}

    return sign


def _fetch_langfuse(asking: Asking, experiment: str) -> Fetched:
    """Fetch the items of a Langfuse experiment, a file per page."""
    query: dict[str, Any] = {
        "experimentName": experiment,
        "fromStartTime": "2020-01-01T00:00:00Z",
        "fields": "core,dataset,io,itemMetadata,experimentMetadata,scores",
        "limit": PAGE,
    }
    for number in pages():
        page = asking.object("GET", "/api/public/experiment-items", params=query)
        yield f"items_{number:05}.json", page
        meta = page.get("meta")
        query["cursor"] = meta.get("cursor") if isinstance(meta, dict) else None
        if not query["cursor"]:
            return


def _fetch_langsmith(asking: Asking, experiment: str) -> Fetched:
    """Yield the examples of an experiment with their runs, a file for each page of LangSmith's API."""
    sessions = asking.document("GET", "/sessions", params={"name": experiment, "limit": 2})
    if not isinstance(sessions, list) or len(sessions) != 1 or not isinstance(sessions[0], dict):
        raise FileFault(f"{len(sessions) if isinstance(sessions, list) else 'no'} experiments have that name")
    dataset, session = member(sessions[0], "reference_dataset_id"), member(sessions[0], "id")
    offset = 0
    for number in pages():
        query = {"session_ids": [session], "offset": offset, "limit": PAGE, "preview": False}
        page = asking.document("POST", f"/datasets/{quote(dataset, safe='')}/runs", json=query)
        if not isinstance(page, list):
            raise FileFault("LangSmith does not answer with a list of examples")
        if page or number == 1:
            yield f"examples_{number:05}.json", page
        offset += len(page)
        if len(page) < PAGE:
            return


def _phoenix(asking: Asking, experiment: str) -> Fetched:
    path = f"/v1/experiments/{quote(experiment, safe='')}"
    yield "experiment.json", asking.object("GET", path)
    runs = asking.document("GET", f"{path}/json")
    if not isinstance(runs, list):
        raise FileFault("Phoenix does not answer with a list of runs")
    yield "runs.json", runs


def _fetch_opik(asking: Asking, experiment: str) -> Fetched:
    """Fetch the items of an Opik experiment, a file per page."""
    experiment_read = asking.object("GET", f"/v1/private/experiments/{quote(experiment, safe='')}")
    dataset = member(experiment_read, "dataset_id")
    seen = 0
    for number in pages():
        query: dict[str, Any] = {"experiment_ids": f'["{experiment}"]', "page": number, "size": PAGE}
        page = asking.object(
            "GET", f"/v1/private/datasets/{quote(dataset, safe='')}/items/experiments/items", params=query
        )
        content, total = page.get("content"), page.get("total")
        if not isinstance(content, list):
            raise FileFault("Opik does not answer with items")
        yield (
            f"items_{number:05}.json",
            ({"experiment": experiment_read} if number == 1 else {}) | {"content": content},
        )
        seen += len(content)
        if not content or (isinstance(total, int) and seen >= total):
            return


def _fetch_braintrust(asking: Asking, experiment: str) -> Fetched:
    """Yield the events of an experiment, a file for each page of Braintrust's API."""
    cursor: str | None = None
    for number in pages():
        query = {"limit": PAGE} | ({"cursor": cursor} if cursor else {})
        page = asking.object("POST", f"/v1/experiment/{quote(experiment, safe='')}/fetch", json=query)
        events, cursor = page.get("events"), page.get("cursor")
        if not isinstance(events, list):
            raise FileFault("Braintrust does not answer with events")
        if not events:  # a cursor follows every page that has any
            cursor = None
        yield f"events_{number:05}.json", {"events": events, "cursor": cursor}
        if not cursor:
            return


def _fetch_weave(asking: Asking, experiment: str) -> Fetched:
    """Fetch the calls of a Weave evaluation, a file per page."""
    project, slash, call = experiment.rpartition("/")
    if not slash or "/" not in project:
        raise FileFault("name the evaluation as ENTITY/PROJECT/CALL_ID")
    offset = 0
    for number in pages():
        query = {
            "project_id": project,
            "filter": {"parent_ids": [call]},
            "expand_columns": ["inputs.example"],
            "sort_by": [{"field": "started_at", "direction": "asc"}],
            "limit": PAGE,
            "offset": offset,
        }
        calls = asking.lines("POST", "/calls/stream_query", json=query)
        if calls:
            yield f"calls_{number:05}.jsonl", calls
        offset += len(calls)
        if len(calls) < PAGE:
            return


def _fetch_openai(asking: Asking, experiment: str) -> Fetched:
    """Yield a run of OpenAI's evals and its output items, a file for each page."""
    evaluation, slash, run = experiment.partition("/")
    if not slash:
        raise FileFault("name the run as EVAL_ID/RUN_ID")
    path = f"/evals/{quote(evaluation, safe='')}/runs/{quote(run, safe='')}"
    yield "run.json", asking.object("GET", path)
    query: dict[str, Any] = {"limit": PAGE}
    for number in pages():
        page = asking.object("GET", f"{path}/output_items", params=query)
        yield f"items_{number:05}.json", page
        if page.get("has_more") is not True:
            return
        query["after"] = member(page, "last_id")


def _sign_langfuse(environment: Mapping[str, str]) -> dict[str, Any]:
    public, secret = require_variables(environment, "LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY")
    return {"auth": (public, secret)}


def _sign_langsmith(environment: Mapping[str, str]) -> dict[str, Any]:
    return {"headers": {"X-API-Key": require_variables(environment, "LANGSMITH_API_KEY")[0]}}


def _sign_phoenix(environment: Mapping[str, str]) -> dict[str, Any]:
    key = environment.get("PHOENIX_API_KEY")  # a server on one's own machine needs none
    return {"headers": {"Authorization": f"Bearer {key}"}} if key else {}


def _sign_opik(environment: Mapping[str, str]) -> dict[str, Any]:
    headers = {
        "Authorization": environment.get("OPIK_API_KEY"),
        "Comet-Workspace": environment.get("OPIK_WORKSPACE"),
    }
    return {"headers": {name: value for name, value in headers.items() if value}}


def _sign_weave(environment: Mapping[str, str]) -> dict[str, Any]:
    return {"auth": ("api", require_variables(environment, "WANDB_API_KEY")[0])}


PROVIDERS: Mapping[str, Provider] = {
    "langfuse": Provider(
        _fetch_langfuse, "the experiment's name", "https://cloud.langfuse.com", ("LANGFUSE_BASE_URL", "LANGFUSE_HOST"),
        "LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY", _sign_langfuse,
    ),
    "langsmith": Provider(
        _fetch_langsmith, "the experiment's name", "https://api.smith.langchain.com", ("LANGSMITH_ENDPOINT",),
        "LANGSMITH_API_KEY", _sign_langsmith,
    ),
    "phoenix": Provider(
        _phoenix, "the experiment's id", "http://localhost:6006", ("PHOENIX_BASE_URL", "PHOENIX_COLLECTOR_ENDPOINT"),
        "PHOENIX_API_KEY", _sign_phoenix,
    ),
    "opik": Provider(
        _fetch_opik, "the experiment's id", "https://www.comet.com/opik/api", ("OPIK_URL_OVERRIDE",),
        "OPIK_API_KEY and OPIK_WORKSPACE", _sign_opik,
    ),
    "braintrust": Provider(
        _fetch_braintrust, "the experiment's id", "https://api.braintrust.dev", ("BRAINTRUST_API_URL",),
        "BRAINTRUST_API_KEY", _bearer("BRAINTRUST_API_KEY"),
    ),
    "weave": Provider(
        _fetch_weave, "ENTITY/PROJECT/CALL_ID of the evaluation", "https://trace.wandb.ai", ("WF_TRACE_SERVER_URL",),
        "WANDB_API_KEY", _sign_weave,
    ),
    "openai": Provider(
        _fetch_openai, "EVAL_ID/RUN_ID", "https://api.openai.com/v1", ("OPENAI_BASE_URL",),
        "OPENAI_API_KEY", _bearer("OPENAI_API_KEY"),
    ),
}  # fmt: skip
"""Trackers by the name that `--from` takes."""
