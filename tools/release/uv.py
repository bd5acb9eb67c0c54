"""The uv of this checkout, and what is said when a command ends badly."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path


class Failed(Exception):
    """A step of a release that did not end well, in words."""


def run(*words: str | Path, cwd: Path, env: Mapping[str, str] | None = None, status: int = 0) -> str:
    """Run a command and return what it printed.

    Raises:
        Failed: it ended with another status; with the last lines of what it said.
    """
    ended = subprocess.run(  # noqa: S603 - commands of this module's callers alone
        [*map(str, words)], cwd=cwd, env=env, capture_output=True, text=True, check=False, timeout=900
    )
    if ended.returncode != status:
        last = "\n".join((ended.stdout + ended.stderr).strip().splitlines()[-12:])
        raise Failed(
            f"{' '.join(map(str, words[:4]))} … ended with {ended.returncode}, not {status}:\n{last}"
        )
    return ended.stdout


def uv(*words: str | Path, cwd: Path, **env: str) -> str:
    """Run uv: the one that `./do` names, else the one on PATH."""
    return run(os.environ.get("FORELOCK_UV", "uv"), *words, cwd=cwd, env={**os.environ, **env})
