"""Measure everything and write docs/simulations.md: `python -m tests.simulation [WORKERS]`."""

from __future__ import annotations

import sys
from concurrent.futures import ProcessPoolExecutor
from itertools import chain
from multiprocessing import get_context

from tests.simulation.catalogue import NOTES, batches
from tests.simulation.record import PAGE, Record, records, render


def measured(number: int) -> list[Record]:
    """The rows of one batch, by its place in the catalogue."""
    batch = list(batches())[number]
    return records(batch, batch.measure())


def main() -> None:
    """Write the page."""
    workers = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    numbers = range(len(list(batches())))
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        rows = list(chain.from_iterable(pool.map(measured, numbers)))
    order = list(dict.fromkeys(row.key[0] for row in rows))
    rows.sort(key=lambda row: order.index(row.key[0]))
    PAGE.write_text(render(rows, NOTES), "utf-8")


if __name__ == "__main__":
    main()
