"""Examples of Markdown for OpenAPI: they are real, and the tests run them."""

from __future__ import annotations

from service.api import examples
from service.api.evidence_examples import LOCKED_CARD
from service.domain.plan import Plan
from service.reports.evidence_card import print_card
from service.reports.prereg_markdown import print_plan

PREREG = print_plan(Plan.from_dict(examples.PLAN))
DEVIATIONS = """\
# Deviations from EXPERIMENTS_PREREG.md

Plan SHA-256: `b1946ac92492d2347c6235b4d2611184b1946ac92492d2347c6235b4d2611184`

No deviation has been filed.
"""
EVIDENCE = print_card(LOCKED_CARD)
