"""Examples of Markdown for OpenAPI: they are real, and the tests run them."""

from __future__ import annotations

from service.api.examples.made import read_markdown

PREREG = read_markdown("prereg")
OSF = read_markdown("osf")
ASPREDICTED = read_markdown("aspredicted")
DEVIATIONS = """\
# Deviations from EXPERIMENTS_PREREG.md

Plan SHA-256: `b1946ac92492d2347c6235b4d2611184b1946ac92492d2347c6235b4d2611184`

No deviation has been filed.
"""
EVIDENCE = read_markdown("evidence")
