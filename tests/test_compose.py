"""`docker-compose.yml`: no part may do, or take, more than it needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

SERVICES: dict[str, dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parents[1] / "docker-compose.yml").read_text("utf-8")
)["services"]
OURS = [name for name in SERVICES if name != "postgres"]


@pytest.mark.parametrize("name", SERVICES)
def test_a_container_writes_to_its_volume_and_has_an_end_to_its_memory(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert any(each.partition(":")[0] == "/tmp" for each in service["tmpfs"])
    assert service["mem_limit"].endswith("g")
    assert "no-new-privileges:true" in service["security_opt"]


@pytest.mark.parametrize("name", OURS)
def test_a_container_of_ours_has_no_capability(name: str) -> None:
    assert SERVICES[name]["cap_drop"] == ["ALL"]
    assert SERVICES[name]["image"] == "forelock"


def test_workers_and_their_scheduler_get_no_data() -> None:
    for name in ("scheduler", "worker"):
        assert SERVICES[name]["volumes"] == ["pool:/pool:ro"]
