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
from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as hypothesis_settings
from schemathesis.config import SchemathesisConfig
from schemathesis.generation import GenerationMode
from schemathesis.python.asgi import ASGIClient, get_client
from starlette.testclient import TestClient

from service.api.examples import common as examples
from service.app import create_app
from service.config import Settings
from service.keyring.keyring import Keyring
from service.store.database.engine import Database
from tests.every_route import DOCUMENT

from .conftest import add_key, add_project, bearer

OPERATIONS = [
    (path, method.upper()) for path, operations in DOCUMENT["paths"].items() for method in operations
]
WITHOUT_INPUT = 2
"""Requests to an operation that takes neither parameters nor a body: they are all alike."""
each_operation = pytest.mark.parametrize(
    ("path", "method"), OPERATIONS, ids=[" ".join(pair) for pair in OPERATIONS]
)

CONFIG = {
    "request-timeout": 120,  # a loaded machine is no fault of the code
    "generation": {"with-security-parameters": False},
    "analysis": {"constants": {"enabled": False}},  # they differ with what was imported so far
    "checks": {
        "missing_required_header": {"expected-statuses": ["4xx"]},
        "positive_data_acceptance": {"enabled": False},  # rules beyond the schema refuse, with 422
        "ignored_auth": {"enabled": False},  # test_authentication asks every operation
    },
    "operations": [
        {  # one branch of its body has several discriminator values, and each is taken for a violation of the others
            "include-path": "/v1/tests/effect-conversion",
            "include-method": "POST",
            "checks": {"negative_data_rejection": {"enabled": False}},
        }
    ],
}


@dataclass(frozen=True)
class Service:
    """A running application, its document, a key for it, and ids that exist."""

    session: ASGIClient
    schema: Any
    headers: dict[str, str]
    known: list[dict[str, Any]]
    turn: Iterator[int]

    def check(self, path: str, method: str, requests: int) -> None:
        """Send as many cases, half of them outside the schema; compare every answer with the document."""
        operation = self.schema[path][method]
        described = DOCUMENT["paths"][path][method.lower()]
        if not described.get("parameters") and "requestBody" not in described:
            requests, modes = WITHOUT_INPUT, [GenerationMode.POSITIVE]
        else:
            modes = list(GenerationMode)
        for mode in modes:
            run = given(case=operation.as_strategy(generation_mode=mode))(self._send)
            hypothesis_settings(
                max_examples=max(1, requests // 2),
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )(run)()

    def _send(self, case: Any) -> None:
        """Every other case with ids goes to a record that exists."""
        if case.path_parameters and "prereg_id" in case.path_parameters and next(self.turn) % 2:
            known = self.known[next(self.turn) // 2 % len(self.known)]
            case.path_parameters.update({k: v for k, v in known.items() if k in case.path_parameters})
        case.call_and_validate(session=self.session, headers=self.headers)


@dataclass(frozen=True)
class Begun:
    """A directory with a database and its keys, what opens it, and the ids in it."""

    directory: Path
    headers: dict[str, str]
    known: list[dict[str, Any]]


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Begun:
    """Made once, and copied for every operation."""
    directory = tmp_path_factory.mktemp("begun")
    shutil.copyfile(sqlite_template, directory / "forelock.db")
    settings = Settings(data_dir=directory)
    database = Database(settings.url)
    headers = bearer(add_key(database, add_project(database, "contract"))[1])
    app = create_app(settings, database, Keyring.create(directory / "keys"))
    with TestClient(app, headers=headers) as client:
        known = [prepared(client, lock=False), prepared(client, lock=True)]
    database.dispose()
    return Begun(directory, headers, known)


@pytest.fixture(scope="module")
def document() -> Any:
    """The document as generators of requests are made from it; reading it takes longer than most operations."""
    return schemathesis.openapi.from_dict(DOCUMENT, config=SchemathesisConfig.from_dict(CONFIG))


@pytest.fixture
def service(tmp_path: Path, begun: Begun, document: Any) -> Iterator[Service]:
    """One of each test's own: what an operation answers does not depend on those asked before."""
    shutil.copytree(begun.directory, tmp_path, dirs_exist_ok=True)
    settings = Settings(data_dir=tmp_path, max_body_bytes=1_000_000)
    database = Database(settings.url)
    app = create_app(settings, database, Keyring.load(tmp_path / "keys"))
    with TestClient(app), get_client(app) as session:
        yield Service(session, document, begun.headers, begun.known, itertools.count())
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


@each_operation
def test_every_answer_is_a_documented_one(service, path, method):
    service.check(path, method, requests=2)


@pytest.mark.slow
@each_operation
def test_campaign(service, path, method):
    service.check(path, method, requests=300)
