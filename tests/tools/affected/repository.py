"""Git in a checkout of a test's own."""

from __future__ import annotations

import subprocess


def git(root, *arguments):
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    subprocess.run(["git", *identity, *arguments], cwd=root, check=True, capture_output=True)
