"""Lint of arms that a criterion leaves open: two people who read it later have to name the same model."""

from __future__ import annotations

import re
from collections.abc import Iterator

from service.domain.plans.findings import Finding, error, warning
from service.domain.plans.plan import Plan
from service.words import say

OPEN = re.compile(
    r"\b(best|better|good|stronger|strongest|suitable|appropriate|promising|reasonable|comparable|similar|"
    r"choose|choice|pick|prefer|preferred|decide|any|some|tbd|to be (?:decided|determined|announced|named))\b"
    r"|最好|更好|最强|最合适|合适|适当|任意|任一|某个|待定|待选|自选|选择|类似",
    re.IGNORECASE,
)
"""Words that leave the choice to whoever names the model."""
PICKS = re.compile(
    r"\d|\b(first|last|latest|newest|earliest|next|oldest|largest|smallest|cheapest|highest|lowest|before|after|"
    r"since|until|release[sd]?|published|made|makes|tagged|checkpoint|commit)\b"
    r"|首|第一|下一|最新|最早|最后|最大|最小|最高|最低|之前|之后|以前|以后|发布|检查点|版本",
    re.IGNORECASE,
)
"""Words by which one of several is picked that anybody can look up."""
LATEST = re.compile(r"\b(latest|newest|current)\b|最新|当前", re.IGNORECASE)
DATED = re.compile(r"\d|\b(on|before|until|at|when|after|as of)\b|截至|之前|之后|时|当天|日", re.IGNORECASE)


def criterion_findings(plan: Plan) -> Iterator[Finding]:
    """Findings of a criterion that stands beside the model it stands for, or by which nobody can check a naming."""
    for index, card in enumerate(plan.arm_cards or ()):
        if card.criterion is None:
            continue
        path = f"arms[{index}].criterion"
        if card.model is not None:
            yield error("CRITERION_AND_MODEL", path, say("findings.criterion_and_model", arm=card.id))
        elif leaves_open := OPEN.search(card.criterion):
            word = leaves_open.group()
            yield warning("CRITERION_VAGUE", path, say("findings.criterion_vague", arm=card.id, word=word))
        elif not PICKS.search(card.criterion):
            yield warning("CRITERION_VAGUE", path, say("findings.criterion_picks_none", arm=card.id))
        elif (latest := LATEST.search(card.criterion)) and not DATED.search(card.criterion):
            word = latest.group()
            yield warning("CRITERION_VAGUE", path, say("findings.criterion_undated", arm=card.id, word=word))
