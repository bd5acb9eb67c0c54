"""The OpenAPI 3.1 document, read from the routes."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel, TypeAdapter
from starlette.routing import BaseRoute

from service.api.http.problems import MEDIA_TYPE, Problem
from service.api.http.serving.route import Route
from service.stats.shared.declaring.registry import library_versions

TITLE = "Forelock"
SUMMARY = "Lock the plan, then look: preregistered evaluation statistics."
DESCRIPTION = """\
A researcher locks a preregistration (hypotheses, endpoint, sample size, decision rule) before the run. Eval jobs
post per-item results, which nobody can read until the planned n is in. The service runs the named statistical
tests, applies the locked rule and publishes a verdict. Every statistical test is also an endpoint of its own.

Every error is a problem document (RFC 9457) with a stable `code`. Bodies are strict JSON: unknown fields, duplicate
keys, NaN and `true` in place of a number are refused. Writes take an `Idempotency-Key`; lists are paged by
`cursor`; a body may be sent with `Content-Encoding: gzip`."""
TAGS = (
    ("tests", "Statistical tests: stateless, one request and one answer."),
    ("preregistrations", "Plans: draft, lint, lock; and what became of them."),
    ("results", "Per-item results of eval jobs, sealed until the planned n is in."),
    ("verdicts", "What the locked rules said of the results."),
    ("charts", "Pictures as Vega-Lite, SVG, PNG and PDF."),
    ("looks", "What a sequential stopping rule permits to be known before the end."),
    ("deviations", "Departures from locked plans: filed, judged by rule, decided by people."),
    ("evidence", "What a comparison can show for itself, and how to say it."),
    ("jobs", "Work that takes longer than a request."),
    ("projects", "Tenants of the deployment."),
    ("keys", "API keys: who may do what."),
    ("series", "Runs of one system on the same items, looked at after each: has it dropped?"),
    ("view links", "Who may read a record without a key."),
    ("outgoing", "What leaves: webhooks, the project's tracker, runs and links of a record, badges."),
    ("ledger", "The ledger for everybody: checkpoints, keys and proofs. No key is needed."),
    ("audit", "Who did what, and when."),
    ("service", "Limits, version, health and metrics."),
)
_SECURITY = {
    "type": "http",
    "scheme": "bearer",
    "bearerFormat": "flk_...",
    "description": "An API key. It names a person or a job, and carries scopes.",
}
_PUBLISHED = {
    "service__stats__shared__declaring__common__Interval": "service__stats__shared__common__Interval"
}
"""Of two models with one name Pydantic tells which by their modules. Clients are generated from these names, so one
that was published stays when its module moves."""
_KNOWN = re.compile(r"text/.*|application/(json|octet-stream|.*\+json)")
"""Media types of answers that generators of clients know."""
_REF = "#/components/"
_REFERENCE = re.compile(rf"{_REF}schemas/([^\"]+)")


def make_document(routes: Iterable[BaseRoute]) -> dict[str, Any]:
    """Make the OpenAPI document of these routes."""
    plain_routes = [route for route in routes if isinstance(route, Route) and route.include_in_schema]
    for route in plain_routes:
        route.complete()
    result: dict[str, Any] = get_openapi(
        title=TITLE,
        version=library_versions()["forelock-server"],
        summary=SUMMARY,
        description=DESCRIPTION,
        routes=plain_routes,
        servers=[{"url": "/", "description": "This deployment."}],
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
    )
    components = result["components"]
    statuses: set[int] = set()
    for route in plain_routes:
        for method in route.methods or ():
            operation = result["paths"][route.path_format][method.lower()]
            statuses |= _complete(operation, route, components["schemas"])
    for name in ("HTTPValidationError", "ValidationError"):  # FastAPI's own, which we never answer
        components["schemas"].pop(name, None)
    _define(components["schemas"], Problem, "Problem")
    _drop_unused(result)
    _say_defaults(components["schemas"])
    components["responses"] = {_get_name(status): _make_response(status) for status in sorted(statuses)}
    components["securitySchemes"] = {"bearer": _SECURITY}
    used = {
        tag for path in result["paths"].values() for operation in path.values() for tag in operation["tags"]
    }
    result["tags"] = [{"name": name, "description": text} for name, text in TAGS if name in used]
    return _keep_names(result)


def format_document(routes: Iterable[BaseRoute]) -> str:
    """Format the document of these routes as the text that is committed."""
    return json.dumps(make_document(routes), indent=1, ensure_ascii=False) + "\n"


def format_json_only(routes: Iterable[BaseRoute]) -> str:
    """Format a document for generators of clients that cannot use the whole one: they write broken code from it.

    Each body is sent in one way, as JSON; answers that are neither JSON nor text are bytes; and no two schemas share a
    title, by which such generators name classes.
    """
    result = make_document(routes)
    for operations in result["paths"].values():
        for operation in operations.values():
            body = operation.get("requestBody")
            if body is not None and "application/json" in body["content"]:
                body["content"] = {"application/json": body["content"]["application/json"]}
            for response in operation["responses"].values():
                if "content" in response:
                    response["content"] = _select_known_media(response["content"])
    _tell_titles_apart(result["components"]["schemas"])
    return json.dumps(result, indent=1, ensure_ascii=False) + "\n"


def _select_known_media(content: dict[str, Any]) -> dict[str, Any]:
    """Select the media types of an answer that generators know; where they know none, the answer is bytes."""
    known = {name: media for name, media in content.items() if _KNOWN.fullmatch(name)}
    return known or {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}


def _tell_titles_apart(schemas: dict[str, Any]) -> None:
    """Title the schemas that share a title by their own names, such as `ReportsVerdictContentInterval`."""
    times = Counter(schema.get("title") for schema in schemas.values())
    for name, schema in schemas.items():
        if times[schema.get("title")] > 1:
            parts = re.split(r"[^A-Za-z0-9]+|_", name.removeprefix("service__"))
            schema["title"] = "".join(part[:1].upper() + part[1:] for part in parts)


def _complete(operation: dict[str, Any], route: Route, schemas: dict[str, Any]) -> set[int]:
    """Complete an operation by what follows from its route's dependencies: problems, security, media types.

    Returns the statuses of its problems.
    """
    responses = operation["responses"]
    declared = {int(status) for status in responses if status >= "400"}
    statuses = {500, 422} | route.problem_statuses | declared
    for refused in declared:
        del responses[str(refused)]
    responses.update(
        {str(status): {"$ref": f"{_REF}responses/{_get_name(status)}"} for status in sorted(statuses)}
    )
    for status, declared_response in route.responses.items():
        for media_type, media in declared_response.get("content", {}).items():
            if "example" in media:  # FastAPI has dropped the nulls in it
                responses[str(status)]["content"][media_type]["example"] = media["example"]
    for parameter in operation.get("parameters", ()):
        _leave_null_out(parameter["schema"])
        parameter["required"] |= parameter["name"] in route.required_headers
    operation["security"] = [] if route.scopes is None else [{"bearer": list(route.scopes)}]
    if route.body_doc is not None:
        operation["requestBody"] = _make_request_body(operation, route, schemas)
    return statuses


def _make_request_body(operation: dict[str, Any], route: Route, schemas: dict[str, Any]) -> dict[str, Any]:
    """Make a route's request body, with a schema and an example for every media type it takes."""
    doc = route.body_doc
    assert doc is not None  # noqa: S101
    first, *others = doc.content
    body: dict[str, Any] = operation["requestBody"]
    described = next(iter(body["content"].values()))
    if described["schema"].get("type") == "object":  # generators make a class of each place it stands in
        name = f"{operation['operationId']}Body"
        name = name[0].upper() + name[1:]
        schemas[name] = described["schema"] | {"title": name}
        described = {**described, "schema": {"$ref": f"{_REF}schemas/{name}"}}
    content = {first: described}
    for media_type in others:
        same = doc.content[media_type] is doc.content[first]
        content[media_type] = (
            described if same else {"schema": _make_schema(schemas, doc.content[media_type])}
        )
    for media_type, example in doc.examples.items():
        content[media_type] = content[media_type] | {"example": example}
    return {"required": doc.required, "content": content}


def _say_defaults(part: Any) -> None:
    """Tell the default of a field that holds an object in its words: generators refuse it as a value, and drop the
    whole operation."""
    if isinstance(part, dict):
        if isinstance(part.get("default"), dict) and ({"$ref", "oneOf", "anyOf"} & part.keys()):
            default = json.dumps(part.pop("default"))
            part["description"] = f"{part.get('description', '')} Default: `{default}`.".strip()
        for inner in part.values():
            _say_defaults(inner)
    elif isinstance(part, list):
        for inner in part:
            _say_defaults(inner)


def _leave_null_out(schema: dict[str, Any]) -> None:
    """Remove null from the schema of a parameter, which is sent or left out and never null."""
    kinds = [kind for kind in schema.get("anyOf", ()) if kind != {"type": "null"}]
    if len(kinds) == 1:
        del schema["anyOf"]
        schema.update(kinds[0])


def _make_schema(schemas: dict[str, Any], model: Any) -> dict[str, Any]:
    if isinstance(model, type) and issubclass(model, BaseModel):
        _define(schemas, model, model.__name__)
        return {"$ref": f"{_REF}schemas/{model.__name__}"}
    return TypeAdapter(model).json_schema()


def _define(schemas: dict[str, Any], model: type[BaseModel], name: str) -> None:
    """Add a model's schema, and those it refers to, unless they are there already."""
    schema = model.model_json_schema(ref_template=f"{_REF}schemas/{{model}}")
    for part, definition in schema.pop("$defs", {}).items():
        schemas.setdefault(part, definition)
    schemas.setdefault(name, schema)


def _drop_unused(result: dict[str, Any]) -> None:
    """Remove schemas that nothing refers to, such as those of fields that answers leave out."""
    schemas = result["components"]["schemas"]
    pending = [result["paths"], schemas["Problem"]]
    used = {"Problem"}
    while pending:
        for name in set(_REFERENCE.findall(json.dumps(pending.pop()))) - used:
            used.add(name)
            pending.append(schemas[name])
    for name in schemas.keys() - used:
        del schemas[name]


def _keep_names(result: dict[str, Any]) -> dict[str, Any]:
    """Put every schema back under the name that it was first published with."""
    whole = json.dumps(result)
    for name, published in _PUBLISHED.items():
        whole = whole.replace(name, published)
    renamed: dict[str, Any] = json.loads(whole)
    return renamed


def _get_name(status: int) -> str:
    return _PROBLEMS[status][0]


def _make_response(status: int) -> dict[str, Any]:
    """Make the response that all routes share for problems of one status; 404 has an example."""
    example = {
        "type": "urn:forelock:problem:not_found",
        "title": "No such record",
        "status": 404,
        "detail": "there is no preregistration 4f0c in this project",
        "code": "not_found",
        "errors": [],
    }
    media: dict[str, Any] = {"schema": {"$ref": f"{_REF}schemas/Problem"}}
    if status == 404:
        media["example"] = example
    return {"description": _PROBLEMS[status][1], "content": {MEDIA_TYPE: media}}


_PROBLEMS = {
    400: ("BadRequest", "The body cannot be read as JSON, or a required `Idempotency-Key` is missing."),
    401: ("Unauthorized", "No API key, or one that is mistyped, unknown, expired or revoked."),
    403: ("Forbidden", "The API key lacks the scope that `detail` names."),
    404: ("NotFound", "No such record in this project."),
    408: ("RequestTimeout", "The body did not come in time; send it again."),
    409: (
        "Conflict",
        "The record's state does not allow this, or the first request with this `Idempotency-Key` is not done.",
    ),
    410: (
        "Gone",
        "The kept file cannot be had any more, or is not the one that was kept; `code` says which.",
    ),
    412: (
        "PreconditionFailed",
        "The record has changed since it was read: `If-Match` names an older version.",
    ),
    413: ("ContentTooLarge", "The body is larger than `/v1/limits` says."),
    415: ("UnsupportedMediaType", "The content type or encoding is not read here."),
    422: (
        "UnprocessableContent",
        "The request is well formed, but cannot be used; `errors` names each fault and the way out.",
    ),
    428: ("PreconditionRequired", "This write needs `If-Match`."),
    429: (
        "TooManyRequests",
        "The project has as many jobs as it may; try again after `Retry-After` seconds.",
    ),
    500: ("InternalError", "An unexpected error; the log has it under the answer's `X-Request-Id`."),
    503: ("Unavailable", "The service cannot answer now; repeat the request after `Retry-After` seconds."),
    507: ("StorageFull", "The disk is full: nothing was stored. Repeat the request when there is room."),
}
