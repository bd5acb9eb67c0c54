"""Examples of series for OpenAPI."""

from __future__ import annotations

from typing import Any

RUN: dict[str, Any] = {
    "name": "2027-01-04",
    "item_ids": ["q1", "q2", "q3", "q4"],
    "values": [1, 0, 1, 1],
    "settings": {"margin": {"value": 1, "unit": "pp"}},
}
STATE: dict[str, Any] = {
    "name": "nightly",
    "settings": {
        "margin": {"value": 1.0, "unit": "pp"},
        "better": "higher",
        "false_alarm_every": 1000.0,
        "nights": "vary",
    },
    "outcome": "no_drop_shown",
    "since": None,
    "alarm": None,
    "headline": "Nothing is shown: 1 reference run, and no run after",
    "open": "",
    "sentence": "Nothing is shown: 1 reference run, and no run after.",
    "among_all": False,
    "e_value": None,
    "period": 1,
    "n_runs": 1,
    "warnings": [],
    "next": "Post the runs that follow, each when it is there: every one may be looked at.",
    "runs": [
        {
            "name": "2027-01-04",
            "number": 1,
            "reference": True,
            "standing": {
                "mean": 0.75,
                "n": 4,
                "n_missing": 0,
                "delta": None,
                "ci": None,
                "p_value": None,
                "binary": True,
                "exact": True,
                "of_levels": None,
                "foretold": [],
                "lasting": None,
            },
            "evidence": None,
            "received_at": "2027-01-04T06:00:00Z",
        }
    ],
}
