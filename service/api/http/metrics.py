"""Counters for Prometheus: requests by route, method and status, and nothing derived from outcomes."""

from __future__ import annotations

import os
from collections.abc import Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """Counters of one application. With `PROMETHEUS_MULTIPROC_DIR` set, the text sums every worker's."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._children: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        labels = ("route", "method")
        self._requests = Counter(
            "forelock_http_requests", "HTTP requests answered.", (*labels, "status"), registry=self._registry
        )
        self._seconds = Histogram(
            "forelock_http_request_seconds",
            "Time to answer an HTTP request.",
            labels,
            registry=self._registry,
        )

    def count(self, route: str, method: str, status: int, seconds: float) -> None:
        """One answered request; `route` is its template."""
        children = self._children.get((route, method, status))
        if children is None:
            children = self._requests.labels(route, method, str(status)), self._seconds.labels(route, method)
            self._children[route, method, status] = children
        children[0].inc()
        children[1].observe(seconds)

    def text(self, jobs: Mapping[str, int]) -> bytes:
        """The exposition text, with the deployment's unfinished jobs by state."""
        queue = CollectorRegistry()
        gauge = Gauge("forelock_jobs", "Unfinished jobs of the deployment.", ("state",), registry=queue)
        for state, number in jobs.items():
            gauge.labels(state).set(number)
        if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
            return generate_latest(self._registry) + generate_latest(queue)
        workers = CollectorRegistry()
        MultiProcessCollector(workers)  # type: ignore[no-untyped-call]
        return generate_latest(workers) + generate_latest(queue)
