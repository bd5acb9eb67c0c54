"""Git in a checkout of a test's own."""

from __future__ import annotations

import shutil
import subprocess

import pytest


def git(root, *arguments):
    if shutil.which("git") is None:
        pytest.skip("git is not installed (Debian: apt-get install git)")
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    subprocess.run(["git", *identity, *arguments], cwd=root, check=True, capture_output=True)
