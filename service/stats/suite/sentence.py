"""The sentence a suite is answered with."""

from __future__ import annotations

from service.stats.shared.declaring.sentences import difference_of, level_text, p_text
from service.stats.suite.records import SuiteAnalysis
from service.words import Value, list_values, message, speak

NAMED = 3
"""Tasks that a sentence or a warning names; it says that there are more."""


def write_sentence(analysis: SuiteAnalysis) -> str:
    """Return the suite's mean, what the item-weighted one would have said, and which tasks lost."""

    def show(value: float) -> Value:
        if analysis.paired:
            return difference_of(value, binary=analysis.binary)
        return f"{100 * value:.1f}%" if analysis.binary else f"{value:.4g}"

    interval = message("analyses.no_interval")
    if analysis.ci is not None and analysis.ci.low is not None and analysis.ci.high is not None:
        level = level_text(analysis.ci.level)
        interval = message("analyses.ci", level=level, low=show(analysis.ci.low), high=show(analysis.ci.high))
    parts: dict[str, Value] = dict.fromkeys(("chance", "lost", "gained", "none"), "")
    if analysis.losses is not None:
        if analysis.p_value is not None:
            p = p_text(analysis.p_value, analysis.bounds.get("p_value"))
            parts["chance"] = message("analyses.suite_chance", p=p)
        for names, word in ((analysis.losses.lost, "lost"), (analysis.losses.gained, "gained")):
            if names:
                more = message("analyses.and_more") if len(names) > NAMED else ""
                quoted = list_values(
                    (message("analyses.task", name=name) for name in names[:NAMED]), "lists.comma"
                )
                parts[word] = message(f"analyses.suite_{word}", names=quoted, more=more)
        if not analysis.losses.lost:
            parts["none"] = message("analyses.suite_none_lost")
    return speak(
        "analyses.suite_of_two" if analysis.paired else "analyses.suite_of_one",
        tasks=analysis.n_tasks,
        estimate=show(analysis.estimate),
        interval=interval,
        n=analysis.n,
        pooled=show(analysis.item_weighted),
        **parts,
    )
