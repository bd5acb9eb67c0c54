"""Distributions of one commit have one content, say what is in them, and run far from the checkout."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tools.release.building import compare, settle, sum_up
from tools.release.trial import VERSIONS
from tools.release.uv import Failed, run

ROOT = Path(__file__).parents[3]


def made(folder: Path, **files: str) -> Path:
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


def test_a_build_that_differs_in_a_byte_is_refused_by_name(tmp_path: Path) -> None:
    first, same = made(tmp_path / "a", w="1", s="2"), made(tmp_path / "b", w="1", s="2")
    compare(first, same)
    with pytest.raises(Failed, match="w has other bytes"):
        compare(first, made(tmp_path / "c", w="0", s="2"))
    with pytest.raises(Failed, match="other files"):
        compare(first, made(tmp_path / "d", w="1"))


def test_a_bill_of_materials_is_the_same_whenever_it_is_written() -> None:
    def bill(serial: str, time: str) -> str:
        return json.dumps({"serialNumber": serial, "metadata": {"timestamp": time}, "components": ["a"]})

    at = "2026-01-02T03:04:05Z"
    first, second = settle(bill("urn:uuid:1", "now"), at), settle(bill("urn:uuid:2", "later"), at)
    assert first == second
    assert json.loads(first)["metadata"]["timestamp"] == at
    other = settle(json.dumps({"serialNumber": "", "metadata": {}, "components": ["b"]}), at)
    assert json.loads(other)["serialNumber"] != json.loads(first)["serialNumber"]


def test_sums_are_those_that_a_stranger_computes(tmp_path: Path) -> None:
    folder = made(tmp_path / "dist", b="two", a="one")
    sum_up(folder)
    assert (folder / "SHA256SUMS").read_text() == "".join(
        f"{hashlib.sha256(text).hexdigest()}  {name}\n" for name, text in (("a", b"one"), ("b", b"two"))
    )


def test_a_step_that_fails_says_what_it_said_last(tmp_path: Path) -> None:
    with pytest.raises(Failed, match="ended with 3, not 0:\nwhy"):
        run(sys.executable, "-c", "print('why'); raise SystemExit(3)", cwd=tmp_path)
    assert run(sys.executable, "-c", "raise SystemExit(3)", cwd=tmp_path, status=3) == ""


def test_every_python_that_the_distributions_name_is_tried() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    assert f'requires-python = ">={VERSIONS[0]},<3.{int(VERSIONS[-1].partition(".")[2]) + 1}"' in text


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_release_is_built_installed_and_tried(tmp_path: Path) -> None:
    ended = subprocess.run(
        [ROOT / "do", "release", "--out", tmp_path, "--python", "3.11"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    sums = (tmp_path / "SHA256SUMS").read_text().splitlines()
    assert len(sums) == 6
    for line in sums:
        digest, name = line.split()
        assert hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() == digest
    (bill,) = tmp_path.glob("forelock_server-*.cdx.json")
    names = {component["name"] for component in json.loads(bill.read_text())["components"]}
    assert {"numpy", "scipy", "fastapi", "forelock"} <= names
