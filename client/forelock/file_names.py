"""What the files of one import are called in an archive, and by readers."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path


def names_of(paths: Iterable[Path]) -> dict[Path, str]:
    """Return every file's own name; with the folders from the one that holds all of them on, where two share a name.

    >>> list(names_of([Path("run/a/result.json"), Path("run/b/result.json")]).values())
    ['a/result.json', 'b/result.json']
    """
    files = list(dict.fromkeys(paths))
    if len({path.name for path in files}) == len(files):
        return {path: path.name for path in files}
    whole = {path: Path(os.path.abspath(path)) for path in files}
    common = Path(os.path.commonpath([path.parent for path in whole.values()]))
    return {path: absolute.relative_to(common).as_posix() for path, absolute in whole.items()}
