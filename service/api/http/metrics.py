"""Counters for Prometheus: requests by route, method and status, and nothing derived from outcomes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest, values
from prometheus_client.metrics_core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
DIRECTORY = "PROMETHEUS_MULTIPROC_DIR"
"""Where the workers of one `serve` count together. The library looks for it as it is loaded, before forks."""


class Metrics:
    """Counters of one application. With `PROMETHEUS_MULTIPROC_DIR` set, the text sums every worker's."""

    def __init__(self) -> None:
        # The library chose when it was loaded, which may have been before the variable was set.
        if DIRECTORY in os.environ and not values.ValueClass._multiprocess:
            values.ValueClass = values.MultiProcessValue()  # type: ignore[no-untyped-call]
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
        """Count one answered request; `route` is the template of its path, so that ids make no series of their own."""
        children = self._children.get((route, method, status))
        if children is None:
            children = self._requests.labels(route, method, str(status)), self._seconds.labels(route, method)
            self._children[route, method, status] = children
        children[0].inc()
        children[1].observe(seconds)

    def text(self, jobs: Mapping[str, int]) -> bytes:
        """Return the text in Prometheus' exposition format, with the deployment's unfinished jobs by state."""
        queue = CollectorRegistry()
        queue.register(_Queue(jobs))
        if DIRECTORY not in os.environ:
            return generate_latest(self._registry) + generate_latest(queue)
        workers = CollectorRegistry()
        MultiProcessCollector(workers)  # type: ignore[no-untyped-call]
        return generate_latest(workers) + generate_latest(queue)


class _Queue:
    """A collector of numbers that were read from the database.

    They belong to no worker: a gauge of the library would be kept in files and summed with the workers' counters.
    """

    def __init__(self, jobs: Mapping[str, int]) -> None:
        self._jobs = jobs

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the number of unfinished jobs by state."""
        gauge = GaugeMetricFamily("forelock_jobs", "Unfinished jobs of the deployment.", labels=("state",))
        for state, number in self._jobs.items():
            gauge.add_metric((state,), number)
        yield gauge
