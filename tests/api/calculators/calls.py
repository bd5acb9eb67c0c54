"""What calculators are asked for by name in tests: a module that loads nothing they have not loaded."""

from __future__ import annotations

import os
import signal
from dataclasses import replace

from service.api.calculators import handlers
from service.stats.shared.declaring import registry

real_test = handlers.compute_test


def pow_slowly(body):
    """Adds ones: stands for a test without end. Calculators find it by its name."""
    total = 0
    while total < int(body):
        total += 1
    return total


def end_here(_body):
    """Ended by the system."""
    os.kill(os.getpid(), signal.SIGKILL)


def endless(*arguments):
    """`handlers.compute_test` of a test that is estimated to take no time, and takes all there is."""
    find, handlers.LEAST_SECONDS = registry.find, 0.05

    def compute(_request):
        while True:
            pass

    registry.find = lambda *which: replace(find(*which), compute=compute, cost=lambda _request: 1e-6)
    return real_test(*arguments)


def fail(*_arguments):
    """A fault of the service's own."""
    raise RuntimeError("secret")


def surroundings(_body):
    """What a calculator sees."""
    import resource

    return {
        "memory": resource.getrlimit(resource.RLIMIT_DATA)[0],
        "settings": [name for name in os.environ if name.startswith("FORELOCK_")],
    }


def niceness(_body):
    """This process's."""
    return os.getpriority(os.PRIO_PROCESS, 0)
