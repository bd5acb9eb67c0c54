"""The request space is searched for what costs far more than its estimate, and for what holds up the event loop.

An estimate decides whether a request is answered at once; what is small for certain is computed on the event
loop. CPU seconds are compared, in a forked process that the system ends, so that a loaded machine and a
request without end both leave a number. What looks at the clock is slow:
./do test tests/stats/test_cost_search.py -m slow
"""

from __future__ import annotations

import contextlib
import gc
import json
import math
import os
import pickle
import signal
import time
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings, target
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from service.api.http.requests.body import INLINE_BYTES
from service.api.parsing.models import validate
from service.api.routes.calculations.stats import AT_ONCE_SECONDS
from service.errors import ForelockError
from service.stats.shared.declaring import registry
from tests.stats import adversarial

UNDERESTIMATED = 3.0
DECIDES = 0.005
"""Seconds below which an estimate decides nothing."""
LOOP_SECONDS = 0.02
MOST_SECONDS = 4.0
"""What is measured no further."""
AGAIN = 8
LONG_BODIES = pytest.mark.filterwarnings("ignore:Generating overly large repr")
"""What fails is printed, however long it is."""
TESTS = list(registry.latest().values())
every_test = pytest.mark.parametrize("test", TESTS, ids=lambda test: test.name)


def warmed_up(test: registry.StatTest[Any, Any]) -> None:
    """What is made once is not measured."""
    test.answer(test.request.model_validate_json(json.dumps(dict(test.example))))


def cpu_seconds(work: Callable[[], object]) -> float:
    """Of `work` in a process of its own."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        gc.freeze()  # what earlier tests left is no garbage of this request
        signal.setitimer(signal.ITIMER_PROF, MOST_SECONDS)
        start = time.process_time()
        with contextlib.suppress(ForelockError):
            work()
        os.write(writer, pickle.dumps(time.process_time() - start))
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as told:
        found = told.read()
    os.waitpid(child, 0)
    return pickle.loads(found) if found else MOST_SECONDS


def least_seconds(work: Callable[[], object], enough: float) -> float:
    """Measured again while it is more than `enough`: what others do on the machine adds, and takes nothing away."""
    least = cpu_seconds(work)
    for _ in range(AGAIN):
        if least <= enough:
            break
        least = min(least, cpu_seconds(work))
    return least


def searched(test: registry.StatTest[Any, Any], examples: int) -> Callable[[Callable[[Any], None]], None]:
    """Run a check over so many adversarial bodies."""

    def run(check: Callable[[Any], None]) -> None:
        search = given(adversarial.request(test.name) | st.just(dict(test.example)))(check)
        search = settings(
            max_examples=examples,
            deadline=None,
            database=None,
            phases=[Phase.generate, Phase.target],
            suppress_health_check=list(HealthCheck),
        )(search)
        seed(zlib.crc32(test.name.encode()))(search)()

    return run


def estimated(test: registry.StatTest[Any, Any], body: dict[str, Any]) -> tuple[Any, float] | None:
    """The request and its seconds; None for a body that is refused."""
    try:
        request = test.request.model_validate_json(json.dumps(body))
        estimate = test.cost(request)
    except (ForelockError, ValidationError):
        return None
    assert math.isfinite(estimate)
    assert estimate > 0
    return request, estimate


def estimates(test: registry.StatTest[Any, Any], examples: int) -> None:
    warmed_up(test)

    @searched(test, examples)
    def check(body: dict[str, Any]) -> None:
        found = estimated(test, body)
        if found is None or found[1] >= AT_ONCE_SECONDS:
            return
        request, estimate = found
        most = max(DECIDES, UNDERESTIMATED * estimate)
        taken = least_seconds(lambda: test.answer(request), most)
        target(math.log(max(taken, 1e-6) / estimate))
        assert taken <= most, (estimate, taken)


def on_the_loop(test: registry.StatTest[Any, Any], examples: int) -> None:
    """What the API does of a request before it waits: all of it where the test is in closed form."""
    warmed_up(test)
    adapter: TypeAdapter[Any] = TypeAdapter(test.request)

    @searched(test, examples)
    def check(body: dict[str, Any]) -> None:
        sent = json.dumps(body, separators=(",", ":")).encode()
        if len(sent) > INLINE_BYTES:
            return
        seconds = least_seconds(lambda: test.answer(validate(adapter, sent)), LOOP_SECONDS)
        target(seconds)
        assert seconds <= LOOP_SECONDS


@every_test
def test_every_awkward_request_has_an_estimate(test: registry.StatTest[Any, Any]) -> None:
    searched(test, 8)(lambda body: estimated(test, body) and None)


@every_test
@pytest.mark.slow
@pytest.mark.timeout(3600)  # CPU is what is measured and bounded: others may have most of the machine
@LONG_BODIES
def test_no_awkward_request_costs_far_more_than_is_estimated(test: registry.StatTest[Any, Any]) -> None:
    estimates(test, 90)


closed_form = pytest.mark.parametrize(
    "test", [each for each in TESTS if each.closed_form], ids=lambda test: test.name
)


@closed_form
@pytest.mark.slow
@pytest.mark.timeout(3600)
@LONG_BODIES
def test_nothing_small_for_certain_holds_up_the_others(test: registry.StatTest[Any, Any]) -> None:
    on_the_loop(test, 300)


@pytest.mark.slow  # it looks at the clock
@closed_form
@pytest.mark.parametrize(
    "body",
    [
        b'{"baseline": [' + b'"x",' * 4000 + b"1]}",
        b'{"baseline": [' + b"[]," * 5000 + b"1]}",
        b'{"' + b'":1,"a'.join([b"k"] * 2300) + b'":1}',
        b"[" * 16_000,
        b'{"values": [' + b"[1,null]," * 1700 + b"[1,2]]}",
        b'{"values": [' + b"1e308," * 2700 + b"1]}",
        b'{"effect": {"kind": "' + b"\\u0041" * 2600 + b'"}}',
    ],
)
def test_a_small_body_full_of_faults_holds_up_nobody(test: registry.StatTest[Any, Any], body: bytes) -> None:
    assert len(body) <= INLINE_BYTES
    warmed_up(test)
    adapter: TypeAdapter[Any] = TypeAdapter(test.request)
    with contextlib.suppress(ForelockError):
        validate(adapter, b"{}")
    assert least_seconds(lambda: validate(adapter, body), LOOP_SECONDS) <= LOOP_SECONDS
