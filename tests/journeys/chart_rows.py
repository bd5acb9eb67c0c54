"""Charts and the rows they are drawn from."""

from __future__ import annotations

from typing import Any


def path(prereg_id: str, chart: str, form: str = "json") -> str:
    return f"/v1/preregistrations/{prereg_id}/charts/{chart}.{form}"


def rows_of(spec: Any) -> list[dict[str, Any]]:
    """Every row of data in a spec that has fields."""
    found = []
    if isinstance(spec, dict):
        values = spec.get("data", {}).get("values", []) if isinstance(spec.get("data"), dict) else []
        found += [row for row in values if row]
        for name, each in spec.items():
            if name != "data":
                found += rows_of(each)
    elif isinstance(spec, list):
        for each in spec:
            found += rows_of(each)
    return found
