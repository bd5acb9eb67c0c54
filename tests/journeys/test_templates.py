"""Templates of others over HTTP: a record as one, and one as a draft."""

from __future__ import annotations

import pytest

from tests.journeys.conftest import Service, only_sqlite
from tests.journeys.plans import draft, small_plan
from tests.journeys.states import path

pytestmark = only_sqlite


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", ["osf", "aspredicted"])
def test_a_template_becomes_the_same_plan_again(service: Service, name: str, language: str) -> None:
    plan = small_plan(6) | {"authors": [{"name": "Ada Lovelace"}]}
    prereg_id = draft(service.client, plan)
    file = service.client.get(path(prereg_id, f"{name}.md"), params={"lang": language})
    assert (file.status_code, file.headers["content-type"]) == (200, "text/markdown; charset=utf-8")
    headers = {"Content-Type": "text/markdown"}
    again = service.client.post("/v1/preregistrations", content=file.content, headers=headers)
    assert again.status_code == 201
    assert again.json()["plan"] == service.client.get(path(prereg_id)).json()["plan"]
    assert [gap for gap in again.json()["gaps"] if gap["code"] == "UNREAD"] == []
