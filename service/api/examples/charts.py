"""Examples of pictures for OpenAPI."""

from __future__ import annotations

from service.api.examples.made import of_json

ANSWERED = of_json("chart_answer")
FOREST = of_json("chart_forest")
REPORT = of_json("report")
