"""An evaluation run of MLflow, fetched over its REST API: the answer of `runs/get` and the pages of `traces/search`.

It is fetched by whoever may read it there, with the variables that MLflow's own client reads. The service is sent files
and never learns a credential, nor does it call an address that somebody names.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx

from forelock import incoming
from forelock.bounded_requests import TIMEOUT, Fetcher
from forelock.problem import AnswerLacks, FileFault

PAGE = 500
MOST_PAGES = 2000


def fetch_run(
    run_id: str,
    directory: Path,
    uri: str | None = None,
    *,
    environment: Mapping[str, str] = os.environ,
    transport: httpx.BaseTransport | None = None,
) -> list[Path]:
    """Write the run's files into a directory; `uri` stands for MLFLOW_TRACKING_URI.

    Raises:
        FileFault: no address, no answer, or one that refuses.
    """
    uri = uri or environment.get("MLFLOW_TRACKING_URI")
    if not uri or not uri.startswith(("http://", "https://")):
        raise FileFault("say where MLflow is: --mlflow-uri, or MLFLOW_TRACKING_URI, as http:// or https://")
    with httpx.Client(timeout=TIMEOUT, transport=transport, follow_redirects=False) as client:
        asking = _Asking(client, uri.rstrip("/"), _authorization(environment))
        run = asking.ask("GET", "/api/2.0/mlflow/runs/get", params={"run_id": run_id})
        try:
            experiment = str(run["run"]["info"]["experiment_id"])
        except (AnswerLacks, KeyError, TypeError):
            raise FileFault(f"{uri} does not answer as an MLflow tracking server") from None
        paths = [_write(directory / "run.json", run)]
        token: str | None = None
        for number in range(1, MOST_PAGES + 1):
            page = asking.ask(
                "POST", "/api/3.0/mlflow/traces/search", json=_search(experiment, run_id, token)
            )
            paths.append(_write(directory / f"traces_{number:04}.json", page))
            token = page.get("next_page_token") or None
            if token is None:
                return paths
    raise FileFault(f"the run has more than {MOST_PAGES * PAGE} traces")


def _search(experiment: str, run_id: str, token: str | None) -> dict[str, Any]:
    location = {"type": "MLFLOW_EXPERIMENT", "mlflow_experiment": {"experiment_id": experiment}}
    quoted = run_id.replace("'", "")
    wanted = {"locations": [location], "filter": f"attributes.run_id = '{quoted}'", "max_results": PAGE}
    return wanted | ({"page_token": token} if token else {})


def _authorization(environment: Mapping[str, str]) -> dict[str, str] | httpx.BasicAuth:
    """As MLflow's own client: a user and a password come before a token."""
    user, password = environment.get("MLFLOW_TRACKING_USERNAME"), environment.get("MLFLOW_TRACKING_PASSWORD")
    if user and password:
        return httpx.BasicAuth(user, password)
    token = environment.get("MLFLOW_TRACKING_TOKEN")
    return {"Authorization": f"Bearer {token}"} if token else {}


class _Asking:
    """Requests to one server, and its refusals in a sentence."""

    def __init__(self, client: httpx.Client, uri: str, who: dict[str, str] | httpx.BasicAuth) -> None:
        self._uri, self._fetcher = uri, Fetcher(client, uri, "the run")
        self._auth = who if isinstance(who, httpx.BasicAuth) else None
        self._headers = who if isinstance(who, dict) else {}

    def ask(self, method: str, path: str, **arguments: Any) -> dict[str, Any]:
        """Return the object that it answers."""
        headers = {"Accept-Encoding": incoming.ENCODINGS, **self._headers}
        answer = self._fetcher.fetch(method, path, headers=headers, auth=self._auth, **arguments)
        document = incoming.read_document(answer.content)
        if answer.status_code in (401, 403):
            raise FileFault(
                f"{self._uri} refuses the request ({answer.status_code}): set MLFLOW_TRACKING_USERNAME and "
                "MLFLOW_TRACKING_PASSWORD, or MLFLOW_TRACKING_TOKEN"
            )
        if answer.status_code != 200 or not isinstance(document, dict):
            code = document.get("error_code") if isinstance(document, dict) else None
            raise FileFault(f"{self._uri} answers {answer.status_code}" + (f": {code}" if code else ""))
        return document


def _write(path: Path, document: dict[str, Any]) -> Path:
    path.write_text(json.dumps(document), encoding="utf-8")
    return path
