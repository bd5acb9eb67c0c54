"""The server of tests and benchmarks starts wherever its starter keeps temporary files."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from tests.postgres import Postgres


@pytest.mark.skipif(os.geteuid() != 0, reason="only root starts it as somebody else")
def test_it_starts_where_others_may_not_enter_the_directory_for_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = tmp_path / "of-its-owner"
    (closed / "tmp").mkdir(parents=True)
    closed.chmod(0o700)
    monkeypatch.setattr(tempfile, "tempdir", str(closed / "tmp"))
    server = Postgres()
    try:
        server.start()
        assert f"host={server.directory}" in server.url(server.create())
    finally:
        server.stop()
