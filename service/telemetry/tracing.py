"""Traces for OpenTelemetry (extra `otel`): requests, jobs and SQL, by kind and time, and nothing of what they hold.

The official instrumentation records; what leaves is made anew from a short list of names. So neither ids, statements,
addresses, sizes nor the text of an exception can be in a span, whatever an instrumentation adds in a later version.
Jobs that read sealed rows are told to the minute and without their parts: how long they take may follow from outcomes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from contextlib import contextmanager
from typing import Any

from opentelemetry import context, trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.instrumentation.asgi import OpenTelemetryMiddleware
from opentelemetry.instrumentation.sqlalchemy import SQLAlchemyInstrumentor
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import Span, SpanContext, SpanKind, Status
from typing_extensions import override

Scope = MutableMapping[str, Any]
App = Callable[[Scope, Any, Any], Any]

_ROUTE, _METHOD, _JOB = "http.route", "http.request.method", "forelock.job.kind"
_MINUTE = 60 * 10**9
_SHOWN = {
    _ROUTE: _ROUTE,
    _JOB: _JOB,
    "http.request.method": _METHOD,
    "http.method": _METHOD,
    "http.response.status_code": "http.response.status_code",
    "http.status_code": "http.response.status_code",
    "db.system": "db.system",
    "db.system.name": "db.system",
}
"""What may leave, and by which name."""
_STATEMENTS = frozenset({"SELECT", "INSERT", "UPDATE", "DELETE", "WITH", "SET", "PRAGMA", "BEGIN", "COMMIT"})


class Tracing:
    """The tracing of one process: where its spans go."""

    def __init__(self, process: str, sender: SpanProcessor) -> None:
        """`process` is what it is, such as `forelock-api`; `sender` takes spans that end, through `Shown`."""
        self._provider = TracerProvider(resource=Resource({SERVICE_NAME: process}), shutdown_on_exit=False)
        self._provider.add_span_processor(sender)
        self._tracer = self._provider.get_tracer("forelock")

    @classmethod
    def to(cls, process: str, endpoint: str) -> Tracing:
        """Traces that are sent to a collector by OTLP over HTTP, beside what the process does."""
        return cls(process, BatchSpanProcessor(AllowedSpans(OTLPSpanExporter(endpoint=endpoint))))

    def database(self, engine: Any) -> None:
        """Trace the statements of a database, by its engine."""
        # Its list of versions ends before ours; what it listens to is the same.
        SQLAlchemyInstrumentor().instrument(
            engine=engine, tracer_provider=self._provider, skip_dep_check=True
        )

    def application(self, app: App) -> App:
        """Return the same application, whose requests are traced by the template of their route."""

        async def route(scope: Scope, receive: Any, send: Any) -> None:
            span = trace.get_current_span()

            async def answer(message: MutableMapping[str, Any]) -> None:
                if message["type"] == "http.response.start":  # the span ends with the last of the body
                    span.set_attribute(_ROUTE, getattr(scope.get("route"), "path", "unmatched"))
                await send(message)

            await app(scope, receive, answer)

        traced: App = OpenTelemetryMiddleware(
            route, tracer_provider=self._provider, exclude_spans=["receive", "send"]
        )

        async def chosen(scope: Scope, receive: Any, send: Any) -> None:
            await (traced if scope["type"] == "http" else app)(scope, receive, send)

        return chosen

    @contextmanager
    def job(self, kind: str, *, sealed: bool) -> Iterator[None]:
        """Trace one attempt at a job."""
        if not sealed:
            with self._tracer.start_as_current_span(
                "job", record_exception=False, set_status_on_exception=False
            ) as span:
                span.set_attribute(_JOB, kind)
                yield
            return
        token = context.attach(context.Context())  # its statements have no parent, and do not leave
        try:
            yield
        finally:
            context.detach(token)
            self._tell_sealed(kind)

    def _tell_sealed(self, kind: str) -> None:
        minute = time.time_ns() // _MINUTE * _MINUTE
        span: Span = self._tracer.start_span("job", start_time=minute)
        span.set_attribute(_JOB, kind)
        span.end(end_time=minute)

    def close(self) -> None:
        """Send the spans that wait, and end."""
        self._provider.shutdown()


class AllowedSpans(SpanExporter):
    """Hands on what may leave of each span."""

    def __init__(self, to: SpanExporter) -> None:
        self._to = to

    @override
    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Make the spans anew; statements outside of a request or a job stay here."""
        allowed = [made for span in spans if (made := _keep_allowed(span)) is not None]
        return self._to.export(allowed) if allowed else SpanExportResult.SUCCESS

    @override
    def shutdown(self) -> None:
        """Send what waits, and take no more spans."""
        self._to.shutdown()

    @override
    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Send the spans that wait in the exporter."""
        return self._to.force_flush(timeout_millis)


def _keep_allowed(span: ReadableSpan) -> ReadableSpan | None:
    """Make a span of the names and attributes that may leave the process; None for a statement outside of requests."""
    attributes = {_SHOWN[name]: value for name, value in (span.attributes or {}).items() if name in _SHOWN}
    if "db.system" in attributes or span.name == "connect":
        if span.parent is None:
            return None
        word = span.name.split(" ")[0].upper()
        name = word if word in _STATEMENTS else "connect" if word == "CONNECT" else "statement"
    elif _JOB in attributes:
        name = "job"
    else:
        name = f"{attributes.get(_METHOD, '')} {attributes.get(_ROUTE, 'unmatched')}".strip()
    return ReadableSpan(
        name=name,
        context=_place(span.context),
        parent=_place(span.parent),
        resource=span.resource,
        attributes=attributes,
        kind=span.kind if isinstance(span.kind, SpanKind) else SpanKind.INTERNAL,
        status=Status(span.status.status_code),
        start_time=span.start_time,
        end_time=span.end_time,
        instrumentation_scope=span.instrumentation_scope,
    )


def _place(context: SpanContext | None) -> SpanContext | None:
    """Return which span of which trace it is, without the `tracestate` that a caller may have sent: any text."""
    if context is None:
        return None
    return SpanContext(context.trace_id, context.span_id, context.is_remote, context.trace_flags)
