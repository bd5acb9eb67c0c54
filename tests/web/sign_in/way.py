"""The way of a browser through the provider and back."""

from __future__ import annotations

from typing import Any

from starlette.testclient import TestClient

from service.store.database.engine import Database
from service.store.projects import keys
from service.web.visitors.single_sign_on import START
from tests.openid import (
    OpenIDProvider,
)
from tests.web.outline import Outline


def begin(visitor: TestClient, wanted: str = "/preregistrations") -> str:
    """Where the provider is, as the browser is sent there."""
    answer = visitor.get(START, params={"next": wanted})
    assert answer.status_code == 303, answer.text
    return answer.headers["location"]


def come_back(visitor: TestClient, provider: OpenIDProvider, wanted: str = "/preregistrations") -> Any:
    """The whole way: what the page says that the browser ends on."""
    return visitor.get(provider.authorize(begin(visitor, wanted)))


def is_in(visitor: TestClient) -> bool:
    return visitor.get("/preregistrations").status_code == 200


def enters(answer: Any) -> bool:
    return answer.status_code == 200 and "forelock_session=" in answer.headers.get("set-cookie", "")


def leads_to(answer: Any) -> str:
    (line,) = [line for line in Outline(answer.text).all("meta") if line.get("http-equiv") == "refresh"]
    return str(line["content"]).partition("url=")[2]


def key_of(database: Database, project_id: str) -> list[Any]:
    with database.read() as session:
        return [key for key in keys.read_page(session, project_id)[0] if key.id.startswith("person-")]
