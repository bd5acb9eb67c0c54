"""What lint knew of a hypothesis when its plan was locked, in one sentence beside the outcome.

A reader of the first lines meets it there, and not a screen below: that the rule had little chance to hold, or that an
interval tends to be too short.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from service.domain.plans.findings import Finding, name_at
from service.domain.plans.plan import Plan
from service.domain.verdicts.records import HypothesisVerdict
from service.words import Message, Value, list_values, message, read, text_of

LEAST = 0.01
"""A chance below this is told as a bound: one study of so many."""


def known_at_lock(plan: Plan, judged: HypothesisVerdict, findings: Sequence[Finding]) -> Value:
    """Return the sentence; empty where lint warned of nothing that concerns this hypothesis or its population.

    Args:
        findings: what lint said at the lock. Advice other than on power is left to the list of warnings.

    Example:
        "Foreseen at the lock: with a true difference of 2 pp (the SESOI, smallest effect of interest) the rule had a
        chance between 0.066 and 0.2 to hold, depending on how results vary."
    """
    concerned = [
        finding
        for finding in findings
        if finding.severity == "warning" and name_at(plan, finding.path) in (judged.id, judged.population)
    ]
    parts = [*_parts(concerned)]
    return message("notes.known", parts=list_values(parts, "lists.semicolon")) if parts else ""


def _parts(findings: Sequence[Finding]) -> Iterator[Message]:
    """Yield what can be said shortly; of other warnings that the lock asked about, their codes."""
    codes: list[str] = []
    for finding in findings:
        known = read("findings", finding.message)
        key = "" if known is None else known.code.partition(".")[2]
        if known is not None and key.startswith("low_power"):
            truth, low = _spell_out(known.values["truth"]), known.values["low"]
            high = known.values.get("high", low)
            many = "" if high == low else "_range"
            half: Value = ""
            if key.endswith("_half"):
                half = message("notes.known_half_at_most", least=known.values["least"])
            yield message(
                f"notes.known_low_power{many}", truth=truth, studies=_count_studies(low, high), half=half
            )
        elif known is not None and key == "one_arm_low_power":
            power, truth = known.values["power"], _spell_out(known.values["truth"])
            yield message("notes.known_low_power", truth=truth, studies=_count_studies(power, power), half="")
        elif known is not None and key == "uneven_clusters":
            yield message("notes.known_uneven_clusters", n=known.values["n"])
        elif finding.asks and finding.code not in codes:
            codes.append(finding.code)
    if codes:
        yield message("notes.known_codes", codes=list_values(codes, "lists.comma"))


def _spell_out(truth: Value) -> Value:
    """A true difference of the SESOI's size, with what these letters stand for: here a reader meets them first."""
    if isinstance(truth, Message) and truth.values.get("name") == message("power.at_sesoi"):
        return message("notes.known_truth", size=truth.values["size"])
    return truth


def _count_studies(low: Value, high: Value) -> Message:
    """In how many studies a rule holds, by its least and its greatest chance, as the sizes beside it are told.

    The error of a simulation is left to the list of warnings.
    """
    least, most = _read_chance(low), _read_chance(high)
    counts = [f"{100 * chance:.0f}" for chance in (least, most)]
    rare = next((n for n in (1_000_000, 100_000, 10_000) if least <= 1 / n), 100 if least < LEAST else None)
    if rare is None and counts[0] != counts[1]:
        return message("notes.of_100_range", low=counts[0], high=counts[1])
    about = message("notes.of_100", n=counts[1])
    if rare is None:
        return about
    fewer = message("notes.fewer_than_one_of", n=rare)
    return fewer if most < LEAST else message("notes.between_studies", low=fewer, high=about)


def _read_chance(value: Value) -> float:
    """Return a chance as lint told it: `0.066 ± 0.01`, or a bound such as `<0.0001`."""
    return float(text_of(value, "en").partition(" ±")[0].removeprefix("<"))
