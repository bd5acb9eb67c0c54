"""An example multiverse for OpenAPI."""

from __future__ import annotations

from service.api.examples.made import read_json

MULTIVERSE = read_json("multiverse")
