from __future__ import annotations

import signal

from service.api.calculators import messages


def test_a_process_that_is_no_calculator_is_never_ended_for_what_it_computed() -> None:
    messages.begin(100.0)
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)
