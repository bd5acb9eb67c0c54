"""The Dockerfile builds and its image serves. Real builds need root, buildah and debootstrap."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("build.sh")
MISSING = [tool for tool in ("buildah", "debootstrap") if shutil.which(tool) is None]


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.skipif(os.geteuid() != 0, reason="the image build needs root")
@pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")
def test_the_image_builds_and_serves_as_an_ordinary_user(tmp_path: Path) -> None:
    ran = subprocess.run(["sh", str(SCRIPT), str(tmp_path)], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-2000:]
    assert "user:    10001:10001" in ran.stdout
    assert "admin.key has mode 600" in ran.stdout
    assert ran.stdout.rstrip().endswith("stopped with 0")
