"""Bundles as they are fetched and checked."""

from __future__ import annotations

import io
from typing import Any

from forelock.bundles.findings import Report
from forelock.bundles.verifying import verify
from service.offline.recomputing import recompute
from tests.journeys.conftest import Service


def bundle(service: Service, prereg_id: str, *sizes: int) -> bytes:
    parameters: Any = {"checkpoint": [str(size) for size in sizes]}
    answer = service.client.get(f"/v1/preregistrations/{prereg_id}/bundle", params=parameters)
    assert answer.status_code == 200, answer.text
    assert answer.headers["Content-Type"] == "application/zip"
    assert int(answer.headers["Content-Length"]) == len(answer.content)
    return answer.content


def checked(data: bytes, **options: Any) -> Report:
    return verify(io.BytesIO(data), recompute=recompute, **options)


def failures(report: Report) -> list[str]:
    return [each.sentence for each in report.checks if each.state in ("fail", "differs")]
