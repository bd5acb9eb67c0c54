"""Distributions of the same bytes wherever they are built, what they are made of, and their sums."""

from __future__ import annotations

import hashlib
import json
import uuid
from datetime import UTC, datetime
from pathlib import Path

from tools.release.uv import Failed, run, uv

NAMES = ("forelock", "forelock-server")
TWINE = "twine==7.0.0"
NAMESPACE = uuid.UUID("6f0f4d1e-31a9-5c53-9d6e-2f2a7a0d7f11")
"""Of the serial numbers of bills of materials: the same content has the same number."""


def committed_at(root: Path) -> int:
    """When the commit was made, in seconds since 1970: the time of every file in a distribution."""
    return int(run("git", "log", "-1", "--format=%ct", cwd=root))


def build(root: Path, folder: Path) -> None:
    """Wheel and source of both distributions."""
    uv(
        "build",
        "--all-packages",
        "--quiet",
        "--out-dir",
        folder,
        cwd=root,
        SOURCE_DATE_EPOCH=str(committed_at(root)),
    )
    (folder / ".gitignore").unlink(missing_ok=True)


def compare(first: Path, second: Path) -> None:
    """Refuse two builds of one commit that differ in a byte."""
    names = sorted(path.name for path in first.iterdir())
    if names != sorted(path.name for path in second.iterdir()):
        raise Failed("two builds of one commit have other files")
    for name in names:
        if (first / name).read_bytes() != (second / name).read_bytes():
            raise Failed(f"{name} has other bytes when it is built again")


def check(folder: Path) -> None:
    """Ask twine whether an index would take the files and show their pages."""
    files = sorted(folder.iterdir())
    uv("tool", "run", "--from", TWINE, "twine", "check", "--strict", *files, cwd=folder)


def describe(root: Path, folder: Path) -> None:
    """Write each distribution's bill of materials (CycloneDX), from what `uv.lock` names."""
    at = datetime.fromtimestamp(committed_at(root), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    for name in NAMES:
        text = uv(
            "export",
            "--quiet",
            "--frozen",
            "--no-dev",
            "--package",
            name,
            "--format",
            "cyclonedx1.5",
            cwd=root,
        )
        (folder / f"{wheel(folder, name).name.removesuffix('-py3-none-any.whl')}.cdx.json").write_text(
            settle(text, at), "utf-8"
        )


def settle(bill: str, at: str) -> str:
    """A bill of materials whose time is the commit's and whose serial number follows from its content."""
    content = json.loads(bill)
    content["metadata"]["timestamp"] = at
    content["serialNumber"] = ""
    written = json.dumps(content, indent=2, sort_keys=True)
    content["serialNumber"] = f"urn:uuid:{uuid.uuid5(NAMESPACE, written)}"
    return json.dumps(content, indent=2, sort_keys=True) + "\n"


def sum_up(folder: Path) -> None:
    """Write SHA256SUMS, as `sha256sum --check` reads it."""
    lines = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(folder.iterdir())
    ]
    (folder / "SHA256SUMS").write_text("".join(lines), "utf-8")


def wheel(folder: Path, name: str) -> Path:
    """The wheel of a distribution."""
    (path,) = folder.glob(f"{name.replace('-', '_')}-[0-9]*.whl")
    return path
