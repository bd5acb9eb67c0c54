"""Measure and write docs/simulations.md: `python -m tests.simulation [--workers N] [--missing] [WORLD ...]`.

With worlds named, only those are measured again; the other rows stay as they are on the page. `--missing` measures
the rows that the page does not have: those of a new test.
`--workers 0` measures nothing and writes the words anew.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from tests.simulation.catalogue import NOTES, batches
from tests.simulation.record import PAGE, read_page, render, split_page
from tests.simulation.rows import Batch
from tests.simulation.worlds import WORLDS


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--missing", action="store_true")
    parser.add_argument("worlds", nargs="*", metavar="WORLD", help=f"of {', '.join(WORLDS)}")
    options = parser.parse_args()
    some = options.worlds or options.missing or options.workers == 0
    before, plans = split_page(PAGE.read_text("utf-8"))
    rows = read_page(before) if some else {}
    if options.workers:
        wanted = [batch for batch in batches() if not options.worlds or batch.world in options.worlds]
        if options.missing:
            wanted = [batch for batch in wanted if not set(batch.row_keys()) <= set(rows)]
        with ProcessPoolExecutor(options.workers, mp_context=get_context("spawn")) as pool:
            for measured in pool.map(Batch.records, wanted):
                rows |= {row.key: row for row in measured}
    keys = [key for batch in batches() for key in batch.row_keys()]
    keys.sort(key=lambda key: list(WORLDS).index(key[0]))
    page = render([rows[key] for key in keys if key in rows], NOTES)
    PAGE.write_text(f"{page}\n{plans}" if plans else page, "utf-8")


if __name__ == "__main__":
    main()
