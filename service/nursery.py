"""`python -m service.nursery FD`: the process that loads everything and forks the others, until FD is closed."""

from __future__ import annotations

import gc
import logging
import sys

gc.disable()  # what is loaded stays: looking through it again and again was a seventh of a start

from service import main  # noqa: E402
from service.processes.complaints import report_failures  # noqa: E402
from service.processes.supervise import leave  # noqa: E402

if __name__ == "__main__":
    logging.captureWarnings(capture=True)
    leave(report_failures(lambda: main.begin_nursery(int(sys.argv[1]))))
