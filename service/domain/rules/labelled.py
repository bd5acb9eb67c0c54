"""How a plan feeds a test that takes people's labels of a part of the items beside a judge's scores of all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from service.domain.plans.plan import Plan
from service.domain.plans.sections.labels import SUFFIX
from service.domain.rules.settings import Setting, Use
from service.errors import InvalidData
from service.stats.shared.declaring.registry import StatTest

Labels = tuple[Sequence[float], Sequence[float]]
"""Of the baseline's and of the candidate's items; NaN where people were not asked. Of one arm both are its own."""


def takes_labels(test: StatTest[Any, Any]) -> bool:
    """Return True for a test that is given people's labels."""
    return test.plan is not None and test.plan.labels


def asks_labels(setting: Setting) -> bool:
    """Tell whether a test of the hypothesis' own endpoint takes people's labels."""
    return any(takes_labels(use.test) for use in setting.uses.values() if not use.beside)


def of_people(plan: Plan, use: Use, endpoint_id: str) -> bool:
    """Tell whether the plan draws items for people to label of what a test reads."""
    audit = plan.endpoint(endpoint_id + SUFFIX)
    return takes_labels(use.test) and audit is not None and audit.labels is not None


def labelled_columns(
    arms: Mapping[str, Sequence[float]], clusters: Sequence[str] | None, labels: Labels | None
) -> dict[str, Any]:
    """Return `baseline` and `candidate`, or the candidate alone, as such a test takes them.

    Labels and scores of the labelled items, and scores of the others.

    Raises:
        InvalidData: nobody labelled anything.
    """
    if labels is None:
        raise InvalidData.field(
            "labels",
            "are not there",
            "draw items for people to label: `labels` of an endpoint named `X.audit`",
        )
    # the draw is one for both arms: whose labels are there in the baseline has them in the candidate
    labelled = ~np.isnan(np.asarray(labels[0], dtype=np.float64))
    columns: dict[str, Any] = {}
    for name, people in zip(("baseline", "candidate"), labels, strict=True):
        if name not in arms:
            continue
        scores = np.asarray(arms[name], dtype=np.float64)
        columns[name] = {
            "people": np.asarray(people, dtype=np.float64)[labelled].tolist(),
            "judge": scores[labelled].tolist(),
            "unlabelled": scores[~labelled].tolist(),
        }
    if clusters is not None:
        columns["clusters"] = [label for label, one in zip(clusters, labelled.tolist(), strict=True) if one]
        columns["clusters_unlabelled"] = [
            label for label, one in zip(clusters, labelled.tolist(), strict=True) if not one
        ]
    return columns
