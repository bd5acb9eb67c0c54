"""An example multiverse for OpenAPI."""

from __future__ import annotations

from service.api.made_examples import of_json

MULTIVERSE = of_json("multiverse")
