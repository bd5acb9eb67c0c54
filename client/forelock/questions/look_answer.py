"""What all items of a comparison that grows show: a confidence sequence, what it decides, and its price in items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from forelock.questions.forms.figures import show_difference

if TYPE_CHECKING:
    from forelock.client import Client
    from forelock.local import Local

Json = dict[str, Any]
Value = float | None
MOST_MISSING = 0.05
"""Share of the items above which a claim has to hold in its worst case too, as in a comparison that is read once."""
TIE = 1e-9
"""An end this close to a bound counts as equal to it."""
LONGEST = 512
"""Letters of a name in a request."""
NEXT = {
    "cannot_tell": "add items and look again, as often as you like, or stop: which items are added has to be settled "
    "before their outcomes are known",
    "better": "it stands, whatever is added; to claim it, lock a plan and run fresh items",
    "no_worse": "it stands, whatever is added; to claim it, lock a plan and run fresh items",
    "worse": "keep the baseline; look at the items that only the baseline has right",
}
_CLAIMS = {"better": "better", "no_worse": "no worse", "worse": "worse"}


def answer_of(
    asked_of: Client | Local, test: str, looks: Sequence[Json], settings: Json, names: Sequence[str]
) -> Json:
    """The answer from the items of all looks, in their order.

    Args:
        test: the statistical test that has confidence sequences.
        looks: of each the columns `items`, `baseline`, `candidate` and `clusters`.
        settings: what the first look fixed.
        names: of the baseline and the candidate.
    """
    columns = {
        name: [value for entry in looks for value in entry[name]]
        for name in ("items", "baseline", "candidate", "clusters")
    }
    rows = list(zip(columns["baseline"], columns["candidate"], columns["clusters"], strict=True))
    points = all(value in (None, 0, 1) for row in rows for value in row[:2])
    paired = [row for row in rows if None not in row[:2]]
    margin = _margin(settings)
    n_clusters = len({row[2] for row in paired}) if paired and paired[0][2] is not None else None
    common: Json = {
        "question": "gate",
        "prefers": "lower" if settings["lower"] else "higher",
        "points": points,
    }
    common |= {
        "margin": margin,
        "n": len(paired),
        "n_clusters": n_clusters,
        "n_missing": len(rows) - len(paired),
    }
    if not paired:
        return {
            **common, "outcome": "cannot_tell", "delta": None, "ci": None, "price": None, "warnings": [],
            "sentence": "Cannot tell: no item has a result in both arms.", "next": NEXT["cannot_tell"],
            "provenance": {},
        }  # fmt: skip
    sequence = _sequence(asked_of, test, paired, settings)
    analysis = sequence["analysis"]
    claims = _claims(analysis["ci"], margin, lower=settings["lower"])
    warnings = [dict(entry) for entry in sequence["warnings"]]
    outcome, overruled = _outcome(claims), ""
    if len(paired) < (1 - MOST_MISSING) * len(rows) and outcome != "cannot_tell":
        worst = _sequence(asked_of, test, _filled(rows, settings, against=outcome != "worse"), settings)
        if outcome not in _claims(worst["analysis"]["ci"], margin, lower=settings["lower"]):
            overruled, outcome = outcome, "cannot_tell"
            warnings.append(_missing(len(rows) - len(paired), len(rows), _CLAIMS[overruled]))
    return {
        **common,
        "outcome": outcome,
        "delta": analysis["delta"],
        "ci": analysis["ci"],
        "price": _price(asked_of, paired, settings, analysis["ci"]),
        "sentence": _sentence(outcome, overruled, {**analysis, **common}, names),
        "warnings": warnings,
        "next": NEXT[outcome],
        "provenance": sequence["provenance"],
    }


def _margin(settings: Json) -> float | None:
    """In the unit of the values."""
    margin = settings["margin"]
    if margin is None:
        return None
    return float(margin["value"]) / (100 if margin["unit"] == "pp" else 1)


def _sequence(
    asked_of: Client | Local, test: str, rows: Sequence[tuple[float, float, str | None]], settings: Json
) -> Json:
    """The confidence sequence after the last row; rows come in an order that was fixed by their names."""
    request: Json = {
        "method": "confidence_sequence",
        "baseline": [row[0] for row in rows],
        "candidate": [row[1] for row in rows],
        "alpha": settings["alpha"],
        "bound": settings["range"]["high"] - settings["range"]["low"],
        "order": "locked_seed",
    }
    if rows[0][2] is not None:
        request |= {"clusters": [row[2] for row in rows], "size_cap": settings["largest_cluster"]}
    return asked_of.run(test, request)


def _claims(ci: Mapping[str, Any] | None, margin: float | None, *, lower: bool) -> set[str]:
    """Everything that the interval carries."""
    if ci is None:
        return set()
    low, high = (-ci["high"], -ci["low"]) if lower else (ci["low"], ci["high"])
    carried = {
        "better": low > TIE,
        "no_worse": margin is not None and low > -margin + TIE,
        "worse": high < -TIE,
    }
    return {claim for claim, holds in carried.items() if holds}


def _outcome(claims: set[str]) -> str:
    """The first that holds; a loss within the margin is no worse."""
    return next((claim for claim in ("better", "no_worse", "worse") if claim in claims), "cannot_tell")


def _filled(
    rows: Sequence[tuple[Value, Value, str | None]], settings: Json, *, against: bool
) -> list[tuple[float, float, str | None]]:
    """All rows, what is missing as bad as it can be for the candidate, or for the baseline."""
    best, worst = settings["range"]["high"], settings["range"]["low"]
    if settings["lower"]:
        best, worst = worst, best
    if not against:
        best, worst = worst, best
    return [
        (best if baseline is None else baseline, worst if candidate is None else candidate, place)
        for baseline, candidate, place in rows
    ]


def _missing(n_missing: int, n: int, claim: str) -> Json:
    return {
        "code": "MISSING_RESULTS",
        "severity": "serious",
        "message": f"{n_missing} of {n} items lack a result in an arm or in both, and with the worst there could be in "
        f"their place '{claim}' would not be shown: it is not claimed. Run items to their end before they are added.",
        "citation": None,
    }


def _price(
    asked_of: Client | Local,
    rows: Sequence[tuple[float, float, str | None]],
    settings: Json,
    ci: Mapping[str, Any] | None,
) -> Json | None:
    """How many of the items an interval of the same width takes that is read once: widths go by the root of n."""
    arms: list[Json] = []
    for arm in (0, 1):
        arms.append(
            {
                "name": "ab"[arm],
                "item_ids": list(map(str, range(len(rows)))),
                "values": [r[arm] for r in rows],
            }
        )
        if rows[0][2] is not None:
            arms[-1]["clusters"] = [row[2] for row in rows]
    body: Json = {
        "baseline": arms[0],
        "candidate": arms[1],
        "alpha": settings["alpha"],
        "range": settings["range"],
    }
    once = asked_of.compare(body)["ci"]
    if ci is None or once is None or once["low"] is None or once["high"] is None or ci["high"] <= ci["low"]:
        return None
    share = min(((once["high"] - once["low"]) / (ci["high"] - ci["low"])) ** 2, 1.0)
    return {"items_read_once": max(round(share * len(rows)), 1), "share": 1 - share}


def _sentence(outcome: str, overruled: str, answer: Json, names: Sequence[str]) -> str:
    """The outcome, the difference with its interval, and where that lies."""
    points, margin, lower = answer["points"], answer["margin"], answer["prefers"] == "lower"
    clusters = "" if answer["n_clusters"] is None else f" in {answer['n_clusters']} clusters"
    size = f"{answer['n']} {'item' if answer['n'] == 1 else 'items'}{clusters}"
    delta = show_difference(answer["delta"], points=points)
    about = f"{names[1][:LONGEST]} differs from {names[0][:LONGEST]} by {delta}"
    if answer["ci"] is None:
        return f"Cannot tell: {about} ({size}); no one difference fits all items from the first to the last."
    low, high = (show_difference(answer["ci"][end], points=points) for end in ("low", "high"))
    about += f" ({100 * answer['ci']['level']:.10g}% confidence sequence {low} to {high}; {size})"
    prefers = " (lower is better)" if lower else ""
    better, worse = ("below", "above") if lower else ("above", "below")
    if outcome == "better":
        return f"Better: {about}; it lies {better} 0{prefers}."
    if outcome == "worse":
        return f"Worse: {about}; it lies {worse} 0{prefers}."
    edge = "" if margin is None else show_difference(margin if lower else -margin, points=points)
    if outcome == "no_worse":
        return f"No worse: {about}; it lies {better} {edge}, the margin{prefers}."
    if overruled:
        return f"Cannot tell: {about}; too many results are missing to call it {_CLAIMS[overruled]}{prefers}."
    reaches = f" and reaches {edge}, the margin" if margin is not None else ""
    return f"Cannot tell: {about}; it holds 0{reaches}{prefers}."
