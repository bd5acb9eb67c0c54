"""The OpenAPI document, and a page that shows it with nothing loaded from elsewhere."""

from __future__ import annotations

import hashlib
from typing import Literal

from fastapi import Request
from starlette.responses import HTMLResponse, Response

from service.api import openapi
from service.api.http.requests.deps import answer_not_modified
from service.api.http.serving.route import make_router

routes = make_router("service", prefix="")

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Forelock API</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="/static/forelock.svg">
<link rel="stylesheet" href="/static/swagger-ui/swagger-ui.css">
<link rel="stylesheet" href="/static/docs.css">
</head>
<body>
<noscript>This page needs JavaScript; the document itself is at <a href="/openapi.json">/openapi.json</a>.</noscript>
<div id="swagger-ui"></div>
<script src="/static/swagger-ui/swagger-ui-bundle.js"></script>
<script src="/static/docs.js"></script>
</body>
</html>
"""


def _make_document(request: Request, only_json: bool) -> tuple[bytes, str]:
    """Return the document and its ETag, made once for an application: its routes stay as they are."""
    made: dict[bool, tuple[bytes, str]] = request.app.state.documents
    if only_json not in made:
        write = openapi.format_json_only if only_json else openapi.format_document
        body = write(request.app.served).encode()
        made[only_json] = body, f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    return made[only_json]


@routes.get("/openapi.json", include_in_schema=False)
def document(request: Request, bodies: Literal["json"] | None = None) -> Response:
    """The OpenAPI 3.1 document of this version; with `?bodies=json`, every body in that form alone."""
    body, etag = _make_document(request, bodies == "json")
    headers = {"ETag": etag, "Cache-Control": "no-cache"}
    return answer_not_modified(request, etag) or Response(body, 200, headers, "application/json")


@routes.get("/docs", include_in_schema=False)
async def page() -> Response:
    """Show the API's document as a page."""
    return HTMLResponse(PAGE)
