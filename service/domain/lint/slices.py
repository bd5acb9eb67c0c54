"""Lint of what a plan asks of its slices: whether each of them can be shown not to lose the margin."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache

from scipy import special

from service.domain.plans.findings import Finding, error, warning
from service.domain.plans.manifest import ManifestFacts, StratumFacts
from service.domain.plans.plan import Plan
from service.domain.plans.sections.slices import Slices
from service.domain.rules.settings import Setting
from service.domain.verdicts.slices import section_of
from service.errors import InvalidData
from service.stats.shared.methods.slice_records import MOST_SLICES
from service.stats.shared.methods.slicing import weigh_counts
from service.words import say

NAMED = 5

SEARCHED = 20_000
"""Items up to which the least size of a slice is found by the test itself."""


def slice_findings(
    plan: Plan, facts: Mapping[str, ManifestFacts], looked_up: Sequence[Setting]
) -> Iterator[Finding]:
    """Yield findings of slices that nobody asks about, that are not there, or that can never pass."""
    slices = plan.slices
    if slices is None:
        return
    known = {setting.hypothesis.id for setting in looked_up}
    for name in slices.hypotheses or ():
        if name not in known:
            yield error(
                "UNKNOWN_NAME",
                "slices.hypotheses",
                say(
                    "findings.unknown_name",
                    noun=say("findings.hypothesis"),
                    name=name,
                    known=", ".join(sorted(known)) or "none",
                ),
            )
    with_slices = [setting for setting in looked_up if section_of(plan, setting.hypothesis) is not None]
    if not with_slices and known:
        yield error("SLICES", "slices", say("findings.slices_none"))
    if plan.stopping is not None and plan.stopping.kind != "fixed_n":
        yield error("SLICES", "slices", say("findings.slices_looks"))
    for setting in with_slices:
        yield from _check_unit(slices, setting)
    seen = set()
    for setting in with_slices:
        key = setting.hypothesis.population, _name_kind(setting)
        if setting.population is not None and setting.endpoint is not None and key not in seen:
            seen.add(key)
            yield from _check_sizes(slices, setting, facts.get(setting.hypothesis.population))


def _check_unit(slices: Slices, setting: Setting) -> Iterator[Finding]:
    """Yield errors of a margin of slices whose unit the endpoint does not have."""
    endpoint = setting.endpoint
    if endpoint is None or endpoint.kind == "counts":
        return
    try:
        slices.no_worse_than.for_endpoint(binary=endpoint.kind == "binary", path="slices.no_worse_than")
    except InvalidData as invalid:
        for fault in invalid.faults:
            yield error(
                "UNIT",
                fault.path,
                f"{fault.message} ('{endpoint.id}', of {setting.hypothesis.id}): {fault.fix}, or name the hypotheses "
                "that the margin is for in `slices.hypotheses`",
            )


def _name_kind(setting: Setting) -> str:
    """Say how a slice is weighed: `score` for right or wrong on independent items."""
    binary = setting.endpoint is not None and setting.endpoint.collapsed_kind == "binary"
    return "clusters" if setting.clustered else "score" if binary else "items"


def _check_sizes(slices: Slices, setting: Setting, facts: ManifestFacts | None) -> Iterator[Finding]:
    """Yield errors of slices that no results let pass; warnings of small ones, and of clusters in several."""
    if facts is None:
        return  # a missing manifest is an error of its own
    name = setting.hypothesis.population
    if facts.strata is None:
        yield error("SLICES", "slices", say("findings.slices_no_strata", name=name))
        return
    if len(facts.strata) > MOST_SLICES:
        yield error("SLICES", "slices", say("findings.slices_too_many", name=name, most=MOST_SLICES))
        return
    kind, margin = _name_kind(setting), float(slices.no_worse_than.exact())
    if kind == "score" and margin >= 1:
        return
    unit = "clusters" if kind == "clusters" else "items"

    def size(stratum: StratumFacts) -> int:
        return stratum.n_clusters or 0 if kind == "clusters" else stratum.n

    least = least_ever(kind, margin, slices.alpha)
    never = [stratum for stratum in facts.strata if size(stratum) < least]
    if never:
        best = say("findings.candidate_wins_all" if kind == "score" else "findings.whatever_results")
        yield error(
            "SLICE_NEVER_PASSES",
            "slices",
            say(
                "findings.slice_never_passes",
                name=name,
                slices=_list_strata(never, size),
                alpha=f"{slices.alpha:g}",
                best=best,
                least=least,
                unit=unit,
            ),
        )
    if facts.spans_strata and kind == "clusters":
        yield warning("SLICES_SHARE_CLUSTERS", "slices", say("findings.slices_share_clusters", name=name))
    if kind != "score":
        return
    small = [
        stratum
        for stratum in facts.strata
        if stratum.n >= least and not passes_alike(stratum.n, margin, slices.alpha)
    ]
    if small:
        alike = least_alike(margin, slices.alpha)
        yield warning(
            "SLICE_SMALL",
            "slices",
            say("findings.slice_small", name=name, slices=_list_strata(small, size), alike=alike),
        )


def _list_strata(strata: Sequence[StratumFacts], size: Callable[[StratumFacts], int]) -> str:
    """List slices by name and size, the first `NAMED` of them."""
    quoted = [f"'{stratum.stratum[:60]}' ({size(stratum)})" for stratum in strata[:NAMED]]
    rest = f" and {len(strata) - NAMED} more" if len(strata) > NAMED else ""
    names = f"{', '.join(quoted)}{rest}"
    return say("findings.one_slice" if len(strata) == 1 else "findings.some_slices", names=names)


@cache
def least_ever(kind: str, margin: float, alpha: float) -> int:
    """Return the fewest items or clusters with which a slice can pass at all: the candidate wins all of them.

    By sign flips n units give no p below 2^-n.
    """
    if kind != "score":
        return max(math.floor(-math.log2(alpha)) + 1, 2)
    n = 1
    while not _passes(n, n, margin, alpha):
        n += 1
    return n


def least_alike(margin: float, alpha: float) -> int:
    """Return about the fewest items with which a slice passes though none differs; beyond `SEARCHED` a lower bound.

    With that many it passes and with one item less it does not; being exact the p does not fall with every item.
    """
    fails = _most_hopeless(margin, alpha)
    if fails >= SEARCHED:
        return fails + 1
    passes = fails + 1
    while not _passes(0, passes, margin, alpha):
        fails, passes = passes, passes + passes // 8 + 1
    while passes - fails > 1:
        middle = (fails + passes) // 2
        fails, passes = (fails, middle) if _passes(0, middle, margin, alpha) else (middle, passes)
    return passes


def passes_alike(n: int, margin: float, alpha: float) -> bool:
    """Tell whether a slice of n items passes though no item differs."""
    return n > _most_hopeless(margin, alpha) and (n > SEARCHED or _passes(0, n, margin, alpha))


def _most_hopeless(margin: float, alpha: float) -> int:
    """Return the number of items up to which no such slice passes.

    The exact p is no less than the chance of that table, (1 - margin)^n; the score is sqrt(n margin / (1 - margin)).
    """
    z = -float(special.ndtri(alpha))
    most = max(math.log(alpha) / math.log1p(-margin), z * z * (1 - margin) / margin)
    return math.floor(most * (1 - 1e-12))


def _passes(won: int, n: int, margin: float, alpha: float) -> bool:
    """Tell whether the candidate shows no loss of the margin where it alone is right on `won` of n items."""
    p = weigh_counts(won, 0, n, margin, alpha).p
    return p is not None and p < alpha
