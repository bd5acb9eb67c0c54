"""What a search through records looks in: their plans' titles and hypotheses, in one text per record."""

from __future__ import annotations

from service.domain.plans.plan import Plan

LONGEST = 20_000
"""Characters of a plan that are looked in: of a longer one the first."""
MOST_WORDS = 8
"""Of a search; more are not looked for."""


def search_text(plan: Plan) -> str:
    """Return the title, then each hypothesis' id and statement, a line each, in one case.

    Example:
        >>> search_text(Plan.from_dict({"title": "Caching HELPS"}))
        'caching helps'
    """
    texts = (f"{hypothesis.id} {hypothesis.statement}" for hypothesis in plan.hypotheses or ())
    return "\n".join(filter(None, (plan.title, *texts))).casefold()[:LONGEST]


def search_words(text: str) -> tuple[str, ...]:
    """Return the words of a search, each of which has to be there, whole or as a part.

    Example:
        >>> search_words("  Caching  helps ")
        ('caching', 'helps')
    """
    return tuple(dict.fromkeys(text.casefold().split()))[:MOST_WORDS]
