"""Forgeries by name, of those who own the log.

OWNERS hold database and key, and changed the verdict after a reader kept the checkpoint of the lock. REWRITERS changed
what lies between, which a kept checkpoint of the end shows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from service.stats.shared.declaring.registry import library_versions

from .forging import LOCK, Forger, closed_early, placed, retold, rich_plan, text

NEWER = "99.0.0"


def by(path: str, new: Any, **more: Any) -> Callable[[], Forger]:
    """A verdict with a value changed, and more members of it."""

    def change(said: dict[str, Any]) -> None:
        placed(said, path, new)
        said.update(more)

    return lambda: retold(change)


def versions(**other: str) -> dict[str, str]:
    """What a verdict says that computed it, where it says something else."""
    return {**library_versions(), **{name.replace("_", "-"): version for name, version in other.items()}}


def arms_exchanged(said: dict[str, Any]) -> None:
    first = said["hypotheses"][0]
    first["baseline"], first["candidate"] = first["candidate"], first["baseline"]


def exchanged(said: dict[str, Any]) -> None:
    """What was found of two hypotheses stands under the name of the other."""
    first, second = said["hypotheses"][0], said["hypotheses"][2]
    first["outcome"], second["outcome"] = second["outcome"], "inconclusive"


OF_PLAN = {
    "another statement": by("hypotheses.0.statement", "A is more often right than B"),
    "arms that are exchanged": lambda: retold(arms_exchanged),
    "another arm": by("hypotheses.1.candidate", "A"),
    "another population": by("hypotheses.0.population", "q"),
    "another endpoint": by("hypotheses.0.endpoint", "accuracy.audit"),
    "another claim": by("hypotheses.0.claim", "non_inferiority"),
    "another title": by("title", "Another"),
    "another reason for what was struck": by("voided_batches.0.reason", "it was too good"),
    "another number of variants tried": by("hypotheses.0.selection.tried", 2),
    "an arm named otherwise": by("marks.0.says", "arm 'B' is x-3 (released on 2027-02-11)"),
    "no word of the struck batch": by("voided_batches", []),
    "a hypothesis more": lambda: retold(lambda said: said["hypotheses"].append(said["hypotheses"][0])),
    "a hypothesis less": by("hypotheses.1", None),
    "a hypothesis of another name": by("hypotheses.0.id", "H9"),
    "an outcome that is none": by("hypotheses.0.outcome", "proven"),
    "an outcome in other letters": by("hypotheses.0.outcome", "\uff53upported"),
}
"""What a verdict copies from plan and log: it shows without judging again."""
OWNERS: dict[str, Callable[[], Forger]] = OF_PLAN | {
    "another outcome": by("hypotheses.0.outcome", "not_supported"),
    "equivalent": by("hypotheses.0.outcome", "equivalent"),
    "outcomes that are exchanged": lambda: retold(exchanged),
    "another outcome under other libraries": by(
        "hypotheses.0.outcome", "not_supported", versions=versions(numpy="3.0.0", scipy="2.0.0")
    ),
    "another outcome by a later release": by(
        "hypotheses.0.outcome", "not_supported", versions=versions(forelock_server=NEWER)
    ),
    "a rule that holds no more": by("hypotheses.0.rule_holds", False),
    "a clause that holds no more": by("hypotheses.0.clauses.0.holds", False),
    "another observation": by("hypotheses.0.clauses.0.observed", 0.1),
    "another rule": by("hypotheses.0.rule", "delta >= 1 pp"),
    "another difference": by("hypotheses.0.delta", 0.75, versions=versions(forelock_server=NEWER)),
    "another exact difference": by(
        "hypotheses.0.delta_exact", "3/4", versions=versions(forelock_server=NEWER)
    ),
    "another number of items": by("hypotheses.0.n", 2400, versions=versions(forelock_server=NEWER)),
    "another number of planned items": by("hypotheses.0.n_planned", 23, versions=versions(numpy="3.0.0")),
    "another mean": by("hypotheses.1.mean", 0.9, versions=versions(forelock_server=NEWER)),
    "another reference": by("hypotheses.1.reference.value", 0.4, versions=versions(forelock_server=NEWER)),
    "another role": by("hypotheses.0.role", "secondary"),
    "another reading": by("hypotheses.0.reading", "inconclusive", versions=versions(forelock_server=NEWER)),
    "what was excluded": by("hypotheses.0.excluded.pairs", 3),
    "a bound that knows of no choice": by("hypotheses.1.selection", None),
    "a p-value of another size, by a later release": by(
        "hypotheses.0.analyses.m.analysis.p_value", 0.01, versions=versions(forelock_server=NEWER)
    ),
    "an interval that is another": by(
        "hypotheses.1.analyses.share.analysis.ci.low", 0.1, versions=versions(forelock_server=NEWER)
    ),
    "a count of a test": by(
        "hypotheses.0.analyses.m.analysis.n_discordant", 99, versions=versions(forelock_server=NEWER)
    ),
    "a test that is not there": by("hypotheses.0.analyses.m", None, versions=versions(forelock_server=NEWER)),
    "analyses of nothing": by("hypotheses.0.analyses", {}, versions=versions(forelock_server=NEWER)),
    "primary outcomes that are others": by("primary_outcomes", {"not_supported": 3}),
    "an early stop": by("stopped", {"look": 1}, versions=versions(forelock_server=NEWER)),
    "another outcome, judged on no day": by(
        "hypotheses.0.outcome", "not_supported", judged_at="once", versions=versions(forelock_server=NEWER)
    ),
    "another outcome, judged on a day without an hour": by(
        "hypotheses.0.outcome", "not_supported", judged_at=20270301, versions=versions(forelock_server=NEWER)
    ),
    "another outcome beside marks that nobody reads": lambda: retold(
        lambda said: said.update(
            hypotheses=placed(said["hypotheses"], "0.outcome", "not_supported"),
            marks=[*said["marks"], {"code": "read_by_nobody", "effect": "note", "says": "x"}],
            versions=versions(forelock_server=NEWER),
        )
    ),
    "another outcome beside marks that are none": lambda: retold(
        lambda said: said.update(
            hypotheses=placed(said["hypotheses"], "0.outcome", "not_supported"),
            marks=[*said["marks"], {}],
            versions=versions(forelock_server=NEWER),
        )
    ),
    "another outcome beside an odd strike": lambda: retold(
        lambda said: said.update(
            hypotheses=placed(said["hypotheses"], "0.outcome", "not_supported"),
            voided_batches=[{**said["voided_batches"][0], "more": 1}],
            versions=versions(forelock_server=NEWER),
        )
    ),
    "an outcome by versions that are none": by("hypotheses.0.outcome", "not_supported", versions=[]),
}


def moved(change: Callable[[Forger], Any], plan: Mapping[str, Any] | None = None) -> Callable[[], Forger]:
    """The record as if it had come about otherwise; the verdict fits."""

    def made() -> Forger:
        forger = Forger(plan)
        change(forger)
        return forger.seal(forger.judge())

    return made


def deviation_filed_later(forger: Forger) -> None:
    """The entries of the deviation stand behind the results."""
    leaves = forger.world.leaves
    filed = [leaves.pop(LOCK + 2), leaves.pop(LOCK + 2)]
    leaves.extend(filed)


REWRITERS: dict[str, Callable[[], Forger]] = {
    "another plan, judged by it": moved(
        lambda _forger: None, placed(rich_plan(), "hypotheses.1.reference.value", 40)
    ),
    "results that are others, judged anew": lambda: (
        lambda forger: forger.seal(forger.judge())
    )(Forger(right={"A": 20, "B": 4})),
    "a deviation that was filed later": moved(deviation_filed_later),
    "another deviation": moved(
        lambda forger: forger.world.members.update({"deviations/1.json": text({"number": 1, "title": "none"})})
    ),
    "a record that was closed early": closed_early,
}  # fmt: skip
