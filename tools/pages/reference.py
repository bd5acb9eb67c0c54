"""docs/reference/plan.md, made from the plan's schema.

`python -m tools.pages.reference` writes it; a test compares it.
"""

from __future__ import annotations

import sys
from pathlib import Path

from service.domain.plans.plan import Plan
from tools.pages.schema_tables import tables

PLAN = Path(__file__).resolve().parents[2] / "docs" / "reference" / "plan.md"
MADE = "<!-- Made by `python -m tools.pages.reference`; change the fields' words, not this page. -->"
WORDS = """\
# The plan

What `POST /v1/preregistrations` and `forelock plan create` take: one JSON object. A draft may lack any
section; lint says which of them the lock asks for. Unknown fields are refused, and a null field is the same
as an absent one. An `id` that rules name (of a hypothesis or a test) has letters, digits and `_`, begins with
a letter and is at most 64 long; other ids and names may hold `.` and `-` too. What a rule may say is in [what
a rule can show](../power-of-a-rule.md) and [stopping rules](../stopping-rules.md); the parameters of each
test are on [its page](../tests/README.md). The [quickstart](../quickstart.md) has a whole plan. The files
that follow it are [items and results](files.md)."""


def plan_page() -> str:
    """The page of the plan: every section and field with its type, default and meaning."""
    return f"{MADE}\n\n{WORDS}\n\n## Fields\n\n{tables(Plan.model_json_schema(), defaults=True)}\n"


if __name__ == "__main__":
    PLAN.parent.mkdir(exist_ok=True)
    PLAN.write_text(plan_page(), "utf-8")
    sys.exit()
