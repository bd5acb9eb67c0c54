"""`./do bench`: ours and peers on the same inputs, in turns.

A ratio of 10 means that ours answers ten times faster. A missed bar, or sides that disagree by more than chance, is
exit status 1. `--write` puts the tables of the measured groups into docs/performance.md. `--beside` measures an
earlier checkout too, the last release unless one is named: a row that rose is exit status 1.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

from benchmarks import beside, report
from benchmarks.harness import Row, gather, measure


def main(arguments: list[str] | None = None) -> int:
    """Run the rows and print them; returns the exit status."""
    declared = gather()
    groups = list(dict.fromkeys(row.group for row in declared))
    parser = argparse.ArgumentParser(prog="./do bench", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows to FILE")
    parser.add_argument("--only", nargs="+", choices=groups, metavar="GROUP", help=f"of {', '.join(groups)}")
    parser.add_argument(
        "--write", action="store_true", help="put the measured tables into docs/performance.md"
    )
    parser.add_argument(
        "--beside",
        nargs="?",
        const="",
        metavar="REF",
        help="measure REF too, or the last release; show what rose",
    )
    options = parser.parse_args(arguments)
    if options.beside is not None:
        return _beside(options.beside or beside.last_release(), options.only or [])
    rows: list[Row] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for found in declared:
            if not options.only or found.group in options.only:
                print(f"{found.group}: {found.name}", file=sys.stderr, flush=True)
                rows.append(measure(found))
    print(report.as_markdown(rows))
    if options.json:
        options.json.write_text(report.as_json(rows), "utf-8")
    if options.write:
        report.write_page(rows)
    missed = [row for row in rows if not row.met]
    for row in missed:
        print(f"MISSED {row.name}: {row.ratio:.3g}, bar {row.bar}", *row.faults, sep="; ", file=sys.stderr)
    return int(bool(missed))


def _beside(ref: str, groups: list[str]) -> int:
    changes, others = beside.measure_beside(ref, groups)
    print(f"Old: {ref}. Each figure is the best of {beside.TURNS} turns.\n\n{beside.as_table(changes)}")
    if others:
        print(f"\nIn one of the two alone: {', '.join(others)}.")
    return int(any(change.risen for change in changes))


if __name__ == "__main__":
    sys.exit(main())
