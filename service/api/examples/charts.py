"""Examples of pictures for OpenAPI."""

from __future__ import annotations

from service.api.examples.made import read_json

ANSWERED = read_json("chart_answer")
FOREST = read_json("chart_forest")
REPORT = read_json("report")
