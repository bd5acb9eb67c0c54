"""What a suite's answer warns of: tasks that are few, alike, on scales far apart, or in a single cluster."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from service.stats.shared.data.clustering import LEAST_DF, LOW_DF, cluster_warnings
from service.stats.shared.declaring.common import StatWarning
from service.stats.shared.declaring.warnings import define
from service.stats.suite.sentence import NAMED
from service.stats.suite.working import Working
from service.words import Value

FEW_TASKS_OF_A_SAMPLE = 10
"""Fewer tasks hardly tell their spread, and so the error over new ones."""

FEW_TASKS = define("FEW_TASKS", "caution", "Higgins, Thompson & Spiegelhalter (2009), J R Stat Soc A 172:137")
TASK_IN_ONE_CLUSTER = define(
    "TASK_IN_ONE_CLUSTER", "serious", "Bell & McCaffrey (2002), Surv Methodol 28:169"
)
TASK_ALIKE = define("TASK_ALIKE", "info", "Fay & Feuer (1997), Stat Med 16:791")
TASK_RANGES_UNKNOWN = define("TASK_RANGES_UNKNOWN", "caution", "Gaffke (2005), Math Methods Statist 14:451")
TASK_UNIT_TAKEN = define("TASK_UNIT_TAKEN", "info")
TASK_SCALES = define(
    "TASK_SCALES",
    "caution",
    "Nardo et al. (2008), Handbook on Constructing Composite Indicators, OECD, step 5",
)
SPREAD_APART = 20.0
"""How many times as far one task's scores spread before it is said."""


def find_cautions(working: Working) -> Iterator[StatWarning]:
    """Yield what to beware of in the answer, in the order in which it is read."""
    request, weighed = working.request, working.weighed
    names, count = request.names, len(request.names)

    def name_tasks(places: list[int]) -> dict[str, Value]:
        more = ", ..." if len(places) > NAMED else ""
        quoted = ", ".join(f"'{names[place]}'" for place in places[:NAMED])
        return {"count": len(places), "n_tasks": count, "names": quoted + more}

    if request.estimand == "new_tasks":
        if 2 <= count < FEW_TASKS_OF_A_SAMPLE:
            yield FEW_TASKS(n_tasks=count)
    elif weighed.lone:
        yield TASK_IN_ONE_CLUSTER(**name_tasks(weighed.lone))
    unknown = np.flatnonzero(np.isnan(request.ends[0])).tolist()
    if unknown and request.estimand == "these_tasks":
        yield TASK_RANGES_UNKNOWN(**name_tasks(unknown))
    elif request.unit_taken:
        yield TASK_UNIT_TAKEN()
    constant = [at for at in range(count) if weighed.variances[at] <= 0 and at not in weighed.lone]
    if constant:
        yield TASK_ALIKE(**name_tasks(constant))
    spread = np.sqrt(weighed.spread)
    wide, known = int(np.argmax(spread)), np.flatnonzero(spread > 0)
    if len(known) > 1 and not request.points:
        narrow = int(known[np.argmin(spread[known])])
        times = float(spread[wide] / spread[narrow])
        if times > SPREAD_APART and times < np.inf:
            yield TASK_SCALES(wide=names[wide], narrow=names[narrow], times=times)
    if request.clusters is not None:
        yield from cluster_warnings(np.bincount(request.design.units).astype(np.float64))
    bounds = working.bounds
    if bounds is not None and request.estimand == "these_tasks" and bounds.se > 0 and bounds.df < LEAST_DF:
        yield LOW_DF(df=bounds.df)
