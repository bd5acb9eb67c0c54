"""What all items of a comparison that grows show: a confidence sequence, what it decides, and its price in items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from forelock.questions.forms.figures import show_difference
from forelock.text import plain
from forelock.words import Say

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


def answer_of(
    asked_of: Client | Local,
    test: str,
    looks: Sequence[Json],
    settings: Json,
    names: Sequence[str],
    say: Say,
) -> Json:
    """Return the answer from the items of all looks, in their order.

    Args:
        test: the statistical test that has confidence sequences.
        looks: of each the columns `items`, `baseline`, `candidate` and `clusters`.
        settings: what the first look fixed.
        names: of the baseline and the candidate.
        say: the language of its sentences.
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
            "headline": say("grown_no_item"), "open": say("grown_open_nothing"),
            "sentence": say("grown_no_item") + say("stop"), "next": say("grown_next_cannot_tell"),
            "provenance": {},
        }  # fmt: skip
    sequence = _sequence(asked_of, test, paired, settings)
    analysis = sequence["analysis"]
    claims = _claims(analysis["ci"], margin, lower=settings["lower"])
    warnings = [dict(entry) for entry in sequence["warnings"]]
    outcome, overruled = _outcome(claims), ""
    # Where hardly anything is missing no filling is asked for: the sequence of the pairs alone decides.
    if len(paired) < (1 - MOST_MISSING) * len(rows) and outcome != "cannot_tell":
        worst = _sequence(asked_of, test, _fill_missing(rows, settings, against=outcome != "worse"), settings)
        if outcome not in _claims(worst["analysis"]["ci"], margin, lower=settings["lower"]):
            overruled, outcome = outcome, "cannot_tell"
            warnings.append(_missing(len(rows) - len(paired), len(rows), say(overruled), say))
    return {
        **common,
        "outcome": outcome,
        "delta": analysis["delta"],
        "ci": analysis["ci"],
        "price": _price(asked_of, paired, settings, analysis["ci"]),
        **_Lines(outcome, overruled, claims, {**analysis, **common}, names, say).texts(),
        "warnings": warnings,
        "next": say(f"grown_next_{outcome}"),
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
    """Return the confidence sequence after the last row; rows come in an order that was fixed by their names."""
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
    # Turned round, so that above 0 is better whichever way that is.
    low, high = (-ci["high"], -ci["low"]) if lower else (ci["low"], ci["high"])
    carried = {
        "better": low > TIE,
        "no_worse": margin is not None and low > -margin + TIE,
        "worse": high < -TIE,
    }
    return {claim for claim, holds in carried.items() if holds}


def _outcome(claims: set[str]) -> str:
    """Return the first that holds; a loss within the margin is no worse."""
    return next((claim for claim in ("better", "no_worse", "worse") if claim in claims), "cannot_tell")


def _fill_missing(
    rows: Sequence[tuple[Value, Value, str | None]], settings: Json, *, against: bool
) -> list[tuple[float, float, str | None]]:
    """Return all rows, what is missing as bad as it can be for the candidate, or for the baseline."""
    best, worst = settings["range"]["high"], settings["range"]["low"]
    if settings["lower"]:
        best, worst = worst, best
    if not against:
        best, worst = worst, best
    return [
        (best if baseline is None else baseline, worst if candidate is None else candidate, place)
        for baseline, candidate, place in rows
    ]


def _missing(n_missing: int, n: int, claim: str, say: Say) -> Json:
    return {
        "code": "MISSING_RESULTS",
        "severity": "serious",
        "message": say("grown_missing", missing=n_missing, n=n, claim=claim),
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


@dataclass(frozen=True, slots=True)
class _Lines:
    """What is said of a comparison that grows: first line, what was not shown, and all of it in a sentence."""

    outcome: str
    overruled: str
    """The claim that the interval carries and its worst case does not; empty: none."""
    claims: set[str]
    answer: Json
    names: Sequence[str]
    say: Say

    def texts(self) -> Json:
        """By the names that an answer has for them."""
        return {"headline": self._headline(), "open": self._open(), "sentence": self._sentence()}

    @property
    def _lower(self) -> bool:
        return bool(self.answer["prefers"] == "lower")

    @property
    def _note(self) -> str:
        return self.say("grown_lower") if self._lower else ""

    @property
    def _arms(self) -> Json:
        return {"baseline": plain(self.names[0][:LONGEST]), "candidate": plain(self.names[1][:LONGEST])}

    @property
    def _figures(self) -> Json:
        """The difference and the ends of its interval."""
        ci, points = self.answer["ci"], self.answer["points"]
        figures: Json = {"estimate": show_difference(self.answer["delta"], points=points)}
        if ci is not None:
            low, high = (show_difference(ci[end], points=points) for end in ("low", "high"))
            figures |= {"level": f"{100 * ci['level']:.10g}%", "low": low, "high": high}
        return figures

    def _margin(self, sign: int = 0) -> str:
        """Return the margin, with the sign of a loss where one is asked for."""
        size = show_difference((sign or 1) * self.answer["margin"], points=self.answer["points"])
        return size if sign else size.lstrip("+")

    @property
    def _edge(self) -> str:
        return "" if self.answer["margin"] is None else self._margin(1 if self._lower else -1)

    def _headline(self) -> str:
        figures = dict(self._figures)
        code = "figures_alone"
        if self.answer["ci"] is not None:
            code, figures["low"] = "grown_figures", figures["low"].removesuffix(" pp")
        margin = "" if self.answer["margin"] is None else self._margin()
        outcome = "cannot_tell_no_worse" if self.outcome == "cannot_tell" and margin else self.outcome
        line = self.say(code, **figures)
        return self.say(f"grown_{outcome}", **self._arms, margin=margin, note=self._note, figures=line)

    def _open(self) -> str:
        """Say what the look leaves open; nothing where it leaves nothing."""
        say, margin, ci = self.say, self.answer["margin"], self.answer["ci"]
        if ci is None:
            return say("grown_open_none")
        if self.overruled:
            return say("grown_open_missing", **self._arms, claim=say(self.overruled))
        if self.outcome == "cannot_tell":
            return say("grown_open_zero") if margin is None else say("grown_open_margin", edge=self._edge)
        if self.outcome == "no_worse":
            return say("grown_open_loss" if "worse" in self.claims else "grown_open_better", **self._arms)
        if self.outcome == "worse" and margin is not None:
            most = -ci["low"] if self._lower else ci["high"]
            return say("grown_shown_beyond" if most < -margin else "grown_open_beyond", margin=self._margin())
        return ""

    def _sentence(self) -> str:
        """Say in one sentence what a look at a growing file shows."""
        say, answer = self.say, self.answer
        size = f"n = {answer['n']}"
        if answer["n_clusters"] is not None:
            size = say("in_clusters", items=size, n=answer["n_clusters"])
        if answer["ci"] is None:
            return say(
                "grown_says_none", about=say("grown_about_alone", **self._arms, **self._figures, size=size)
            )
        values: Json = {
            "about": say("grown_about", **self._arms, **self._figures, size=size),
            "note": self._note,
        }
        values["side"] = say("grown_above" if (self.outcome == "worse") == self._lower else "grown_below")
        if self.overruled:
            return say("grown_says_missing", **values, claim=say(self.overruled))
        reaches = say("grown_reaches", edge=self._edge) if answer["margin"] is not None else ""
        return say(f"grown_says_{self.outcome}", **values, edge=self._edge, reaches=reaches)
