"""What stands around the routes, outermost first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fastapi import FastAPI
from fastapi.middleware.asyncexitstack import AsyncExitStackMiddleware
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp
from typing_extensions import override

from service.api.http.metrics import Metrics
from service.api.http.serving.middleware import Surroundings
from service.api.http.serving.route import Shortcut


class Layered(FastAPI):
    """FastAPI with our layers instead of its own, which would answer a bug before ours can."""

    def __init__(
        self,
        served: Sequence[BaseRoute],
        metrics: Metrics,
        broken: Callable[[Request], Response],
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.served, self._metrics, self._broken = served, metrics, broken

    @override
    def build_middleware_stack(self) -> ASGIApp:
        """Log line and headers, then routes that need no more, then errors, files to close, and all the routes."""
        inner = ExceptionMiddleware(AsyncExitStackMiddleware(self.router), self.exception_handlers)
        return Surroundings(Shortcut(inner, self.served), self._metrics, self._broken)
