"""Answers that came from elsewhere are compared twice: of the function, and of its endpoint."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from service.errors import ForelockError
from service.stats.shared.declaring import registry
from service.stats.shared.declaring.common import Request

if TYPE_CHECKING:
    from starlette.testclient import TestClient


@pytest.fixture(scope="session")
def http(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Iterator[TestClient]:
    """A client of the whole application, with a key."""
    # Most tests here compute without it, and loading it takes longer than they do.
    from starlette.testclient import TestClient

    from service.app import create_app
    from service.config import Settings
    from service.keyring.keyring import Keyring
    from service.store.database.engine import Database
    from tests.api.conftest import add_key, add_project, bearer

    directory = tmp_path_factory.mktemp("http")
    shutil.copyfile(sqlite_template, directory / "forelock.db")
    settings = Settings(data_dir=directory)
    database = Database(settings.url)
    app = create_app(settings, database, Keyring.create(directory / "keys"))
    with TestClient(app, headers=bearer(add_key(database, add_project(database, "http"))[1])) as client:
        yield client
    database.dispose()


@pytest.fixture(autouse=True)
def over_http_too(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """In tests against other sources, post every request body too: the endpoint must say what the function says."""
    parameters = getattr(request.node, "callspec", None)
    has_case = parameters is not None and isinstance(parameters.params.get("case"), dict)
    if not (has_case or request.node.originalname.startswith("test_against")):
        return
    client: TestClient = request.getfixturevalue("http")
    from service.api.routes.calculations.stats import AT_ONCE_SECONDS

    names = {test.request: test.name for test in registry.latest().values()}
    validate = Request.model_validate_json.__func__

    def both(cls, body, **options):
        parsed = validate(cls, body, **options)
        # what is dear becomes a job, which tests/jobs compare with the function
        if cls in names and registry.find(names[cls]).cost(parsed) < AT_ONCE_SECONDS:
            answer = client.post(
                f"/v1/tests/{names[cls]}", content=body, headers={"Content-Type": "application/json"}
            )
            try:
                expected = json.loads(registry.find(names[cls]).answer(parsed).model_dump_json())
            except ForelockError as refused:
                assert answer.status_code == refused.status
            else:
                assert answer.status_code == 200, answer.text
                assert answer.json() == expected
        return parsed

    monkeypatch.setattr(Request, "model_validate_json", classmethod(both))
