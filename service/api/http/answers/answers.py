"""Models as responses: one way to turn a record into bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

T = TypeVar("T")


class View(BaseModel):
    """What an operation answers: closed, never NaN."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, ser_json_inf_nan="strings")


class Page(View, Generic[T]):
    """One page of a list."""

    items: list[T]
    next_cursor: str | None = Field(
        description="Send it as `cursor` for the next page; null on the last one."
    )


def answer(model: BaseModel, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Answer with a model as JSON."""
    body = model.__pydantic_serializer__.to_json(model, by_alias=True)
    return Response(body, status, headers, "application/json")


def answer_embedding(model: BaseModel, name: str, text: str, headers: dict[str, str] | None) -> Response:
    """Answer with a model as JSON whose member `name` is a stored JSON text, byte for byte: its hash is on record."""
    rest = model.__pydantic_serializer__.to_json(model, by_alias=True, exclude={name})
    member = f'{{"{name}":{text},'.encode()
    # The stored member comes first; the rest follows without its opening brace.
    return Response(member + rest[1:], 200, headers, "application/json")


def omit(model: type[BaseModel], *members: str) -> Callable[[Response], Response]:
    """Make the `keep` of an answer that holds a secret: it stores the answer with null in place of these members."""

    def keep(response: Response) -> Response:
        whole = model.model_validate_json(bytes(response.body))
        return answer(whole.model_copy(update=dict.fromkeys(members)), response.status_code)

    return keep


def shows(example: Any, status: int = 200) -> dict[int | str, dict[str, Any]]:
    """Return the entry of `responses=` that shows an example of the answer in OpenAPI."""
    return {status: {"content": {"application/json": {"example": example}}}}


def shows_file(media_type: str, example: Any) -> dict[int | str, dict[str, Any]]:
    """Return the entry of `responses=` that shows an example of a file in OpenAPI: JSON, or YAML given as text."""
    schema = {"description": "YAML."} if isinstance(example, str) else {"type": "object"}
    return {200: {"content": {media_type: {"schema": schema, "example": example}}}}
