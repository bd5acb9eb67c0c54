"""The service keeps to its own OpenAPI document, whatever is sent to it."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from schemathesis.config import SchemathesisConfig
from schemathesis.python.asgi import ASGIClient, get_client
from starlette.testclient import TestClient

from service.api import examples, openapi
from service.api.app import create_app
from service.config import Settings
from service.keyring import Keyring
from service.store.engine import Database

from .conftest import add_key, add_project, bearer



def schema(max_examples: int) -> Any:
    """The generated document with a bound on random requests per operation."""
    return schemathesis.openapi.from_dict(
        openapi.document(),
        config=SchemathesisConfig.from_dict(
            {
                "base-url": "http://localhost",
                "generation": {
                    "max-examples": max_examples,
                    "deterministic": True,
                    "no-shrink": True,
                    "with-security-parameters": False,
                },
                "checks": {
                    "missing_required_header": {"expected-statuses": ["4xx"]},
                    "positive_data_acceptance": {"enabled": False},  # rules beyond a schema refuse, with 422
                },
            }
        ),
    )


SHORT, LONG = schema(20), schema(200)


@dataclass(frozen=True)
class Service:
    """A running application, a key for it, and ids that exist."""

    session: ASGIClient
    app: Any
    headers: dict[str, str]
    known: list[dict[str, Any]]
    turn: Iterator[int]

    def check(self, case: Any) -> None:
        """Send the case, every other time to a record that exists; compare the answer with the document."""
        if "prereg_id" in case.path_parameters and next(self.turn) % 2:
            known = self.known[next(self.turn) % len(self.known)]
            case.path_parameters.update({k: v for k, v in known.items() if k in case.path_parameters})
        case.call_and_validate(session=self.session, app=self.app, headers=self.headers)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Iterator[Service]:
    directory = tmp_path_factory.mktemp("contract")
    shutil.copyfile(sqlite_template, directory / "forelock.db")
    settings = Settings(data_dir=directory, max_body_bytes=1_000_000)
    database = Database(settings.url)
    app = create_app(settings, database, Keyring.create(directory / "keys"))
    headers = bearer(add_key(database, add_project(database, "contract"))[1])
    with TestClient(app, headers=headers) as client:
        known = [prepared(client, lock=False), prepared(client, lock=True)]
        with get_client(app) as session:
            yield Service(session, app, headers, known, itertools.count())
    database.dispose()


def prepared(client: TestClient, *, lock: bool) -> dict[str, Any]:
    """A draft, or a locked plan with results."""
    made = client.post("/v1/preregistrations", json=examples.PLAN)
    path, population = made.headers["location"], examples.PLAN["populations"][0]
    items = {"item_ids": [f"q{number}" for number in range(1, population["n"] + 1)]}
    assert client.put(f"{path}/populations/{population['id']}/items", json=items).status_code == 200
    if lock:
        tag = client.get(path).headers["etag"]
        once = {"Idempotency-Key": "lock", "If-Match": tag}
        assert client.post(f"{path}/lock", json={"acknowledge": "all"}, headers=once).status_code == 200
        posted = client.post(f"{path}/results", json=examples.RESULTS, headers={"Idempotency-Key": "rows"})
        assert posted.status_code == 201
    return {"prereg_id": made.json()["id"], "population": population["id"], "batch": 1}


@SHORT.parametrize()
def test_every_answer_is_a_documented_one(case, service):
    service.check(case)


@pytest.mark.slow
@LONG.parametrize()
def test_campaign(case, service):
    service.check(case)
