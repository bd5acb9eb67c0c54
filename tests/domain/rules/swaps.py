"""A plan with its endpoints swapped."""

from __future__ import annotations

RULE = "quality.ci.low > -2 pp and cost.ratio.ci.high < 0.8"


SWAP = {
    "hypotheses.0.claim": "non_inferiority",
    "hypotheses.0.statement": "C2 loses less than 2 pp of accuracy and costs less than 0.8 times as much",
    "hypotheses.0.rule": RULE,
    "endpoints.1": {
        "id": "usd", "kind": "continuous", "role": "secondary", "positive": True, "better": "lower",
    },
    "tests": [
        {"id": "quality", "test": "paired-difference", "version": 1},
        {"id": "cost", "test": "ratio-of-means", "version": 1, "endpoint": "usd"},
    ],
}  # fmt: skip
