"""Looking after every item: e-processes and confidence sequences of paired data."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from pydantic import Field

from service.kernels.sequential import confidence_sequence as sequences
from service.kernels.sequential.e_process import betting_log_e, both_bets, log_e, running_counts, winner
from service.records import Record
from service.stats.shared.data.orders import EMPTY, SEQUENCE_EMPTY, Ordered
from service.stats.shared.data.pairs import apply_floor
from service.stats.shared.declaring.common import Alternative, Interval

LARGEST = 1e300
"""Evidence beyond this is told as a bound, within the range of floats."""
TIE = 1e-9
"""An end this close to a bound, in units of the largest difference, counts as equal to it."""


class EProcess(Record):
    """Evidence against H0 that may be read at any time."""

    e_value: float = Field(description="After all data; under H0 its mean is at most 1, a ratio.")
    log_e: float = Field(description="Natural logarithm of e_value.")
    log_e_max: float = Field(description="Largest log_e so far; p_value is exp of minus it.")
    threshold: float = Field(description="1 / alpha: e at or above it rejects, a ratio.")
    kind: str = Field(
        description="`coin`: discordant items as coin tosses; `betting`: on bounded differences."
    )
    n_wins: int | None = Field(description="Items only the candidate answers correctly (b), a count.")
    n_losses: int | None = Field(description="Items only the baseline answers correctly (c), a count.")


def judge_e(
    data: Ordered,
    alternative: Alternative,
    alpha: float,
    bounded: tuple[float | None, int | None],
    reasons: dict[str, str],
    bounds: dict[str, str],
) -> dict[str, Any]:
    """Return the answer's fields from an e-process; `bounded`: bound of a difference and cap of a cluster's size."""
    wins = losses = None
    if data.binary and not data.clustered:
        kind = "coin"
        b, c = running_counts(data.sums)
        path, lead = log_e(b, c), b - c
        wins, losses = int(b[-1]), int(c[-1])
        ahead = {"two-sided": np.ones(len(b), dtype=bool), "greater": b > c, "less": c > b}[alternative]
    else:
        kind = "betting"
        scaled = data.scale(*bounded)[0]
        bets = sequences.plug_in_bets(scaled, alpha)
        path, (up, down) = betting_log_e(scaled, bets, alternative), both_bets(scaled, bets)
        lead = up - down
        ahead = np.ones(len(path), dtype=bool)
        for name in ("e_process.n_wins", "e_process.n_losses"):
            reasons[name] = "the e-process bets on bounded differences and counts no items"
    last = float(path[-1])
    top = float(np.max(path, where=ahead, initial=0.0))
    # Ville's inequality: under H0 the e-process ever reaches 1 / alpha with chance alpha at most, so any item may
    # be the last one. One-sided it rejects only while its own side leads.
    crossed = np.flatnonzero(ahead & (path >= -math.log(alpha)))
    if len(crossed) == 0:
        reasons["stopped_at"] = "the e-value has not reached 1/alpha"
    if last > math.log(LARGEST):
        bounds["e_process.e_value"] = f"> {LARGEST:g}"
    reasons["ci"] = "an e-process tests; use confidence_sequence for an interval"
    return {
        "decision": "reject" if len(crossed) else "continue",
        # Items count from 1.
        "stopped_at": int(crossed[0]) + 1 if len(crossed) else None,
        "p_value": apply_floor(math.exp(-top), "p_value", bounds),
        "side": winner(path, lead, -math.log(alpha)),
        "delta": float(data.sums.sum() / data.sizes.sum()),
        "e_process": EProcess(
            e_value=math.exp(min(last, math.log(LARGEST))),
            log_e=last,
            log_e_max=top,
            threshold=1 / alpha,
            kind=kind,
            n_wins=wins,
            n_losses=losses,
        ),
    }


def judge_sequence(
    data: Ordered,
    alpha: float,
    bounded: tuple[float | None, int | None],
    margin: float | None,
    reasons: dict[str, str],
) -> dict[str, Any]:
    """Return the answer's fields from a confidence sequence; `margin` in outcome units."""
    sums, sizes, bound = data.scale(*bounded)
    low, high = (bound * end for end in sequences.limits(sums, sizes, alpha))
    stopped = sequences.first_exclusion(sums, sizes, alpha, 0.0)
    reasons["p_value"] = "a confidence sequence gives an interval; use e_process for a p-value"
    if stopped is None:
        reasons["stopped_at"] = "0 has not been excluded"
    fields: dict[str, Any] = {
        "decision": "continue" if stopped is None else "reject",
        "stopped_at": stopped,
        "delta": float(data.sums.sum() / data.sizes.sum()),
        "margin": margin,
    }
    if low > high:
        reasons["ci"] = EMPTY
        if margin is not None:
            reasons["equivalent"] = EMPTY
        return {**fields, "warnings": [SEQUENCE_EMPTY()]}
    if margin is not None:
        tie = TIE * bound
        fields["equivalent"] = low > -margin + tie and high < margin - tie
    ci = Interval(low=low, high=high, level=1 - alpha, method="hedged capital, running intersection")
    return {**fields, "ci": ci}
