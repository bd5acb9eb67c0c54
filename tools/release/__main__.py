"""`./do release`: both distributions in `dist/`, built twice to the same bytes, checked, installed and tried.

Beside the four files stand a bill of materials for each distribution (CycloneDX) and the SHA-256 of everything.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from tools.release.building import build, check, compare, describe, sum_up
from tools.release.trial import VERSIONS, find_interpreter, try_out
from tools.release.uv import Failed

ROOT = Path(__file__).parents[2]


def main() -> int:
    """Build into `dist/`, or another folder; what fails is told, and leaves the folder as it was."""
    parser = argparse.ArgumentParser(prog="./do release", description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "dist", metavar="DIR")
    parser.add_argument("--python", action="append", choices=VERSIONS, help="try these alone (default: all)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        first, second = Path(place, "first"), Path(place, "second")
        try:
            for folder in (first, second):
                build(ROOT, folder)
            compare(first, second)
            check(first)
            describe(ROOT, first)
            sum_up(first)
            for version in options.python or VERSIONS:
                if (python := find_interpreter(version)) is None:
                    print(f"skipped: no Python {version} is here to try it on", file=sys.stderr)
                else:
                    try_out(ROOT, first, python, Path(place, version))
                    print(
                        f"Python {version}: installed; verify, gate and serve answer without the checkout",
                        file=sys.stderr,
                    )
        except Failed as failure:
            print(f"./do release: {failure}", file=sys.stderr)
            return 1
        options.out.mkdir(parents=True, exist_ok=True)
        for file in sorted(first.iterdir()):
            shutil.copy(file, options.out / file.name)
            print(options.out / file.name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
