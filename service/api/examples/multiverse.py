"""An example multiverse for OpenAPI."""

from __future__ import annotations

from service.api.examples.made import of_json

MULTIVERSE = of_json("multiverse")
