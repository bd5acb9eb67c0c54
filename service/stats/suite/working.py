"""What is computed of a suite once, and read by every part of its answer: bounds, the joint law, the critical value."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

from service.kernels.suites.heterogeneity import NewTasks, new_tasks
from service.kernels.suites.joint import Joint, joint
from service.kernels.suites.rare import Bounds, NewTaskBounds, SuiteBounds
from service.stats.shared.declaring.common import Interval
from service.stats.shared.methods.weighing import Weighed, find_seen_ends
from service.stats.suite.request import SuiteRequest


@dataclass(frozen=True, eq=False)
class Working:
    """A request with what is computed of it."""

    request: SuiteRequest

    @cached_property
    def weighed(self) -> Weighed:
        """The mean and the tasks."""
        request = self.request
        seen = find_seen_ends(request.design.tasks, list(request.arms.values()))
        exact = request.right_or_wrong
        return Weighed(
            request.design, request.column, request.share, *request.ends, request.paired, seen, exact
        )

    @cached_property
    def tail(self) -> float:
        """The chance of error left to each direction, half of alpha."""
        return self.request.alpha / 2

    @cached_property
    def sample(self) -> NewTasks | None:
        """The error where tasks are a sample; None where they are not, or are too few or alike."""
        if self.request.estimand == "these_tasks" or self.request.design.n_tasks < 2:
            return None
        sample = new_tasks(self.weighed.means / self.weighed.unit, self.request.share)
        # Values that differ by rounding alone are alike; they are in `unit`, so that 1e-12 is relative.
        return self._add_common_error(sample) if sample.se > 1e-12 else None

    def _add_common_error(self, sample: NewTasks) -> NewTasks:
        """The sample with the error that clusters put on all tasks alike, of which the tasks' spread knows nothing.

        Two parts are added: the variance from the tasks' spread, and the mean covariance of two tasks. Their degrees
        of freedom are put together by Satterthwaite's rule, (V1 + V2)^2 / (V1^2 / df1 + V2^2 / df2).
        """
        weighed, share, design = self.weighed, self.request.share, self.request.design
        if not design.spanning:
            return sample
        # The variance of the mean is sum w_t^2 V_t and, of all pairs of tasks, w_s w_t C_st. Those w_s w_t sum to
        # 1 - sum w_t^2, so this is the mean of the C_st.
        pairs = 1 - float(share @ share)
        common = max((weighed.variance - float(share**2 @ weighed.variances)) / pairs, 0.0)
        if common <= 0:
            return sample
        # Shares of the sum rather than variances: their squares stay in range.
        variance = sample.se**2 + common
        spread, tied = sample.se**2 / variance, common / variance
        df = 1 / (spread**2 / sample.df + tied**2 / max(weighed.df, 1e-3))
        return replace(sample, se=math.sqrt(variance), df=df)

    @cached_property
    def bounds(self) -> Bounds | None:
        """Bounds of the suite's mean, for the estimand asked for."""
        if self.request.estimand == "these_tasks":
            return self.weighed.bounds
        if self.sample is None:
            return None
        weighed, unit = self.weighed, self.weighed.unit
        least, greatest = weighed.task_span
        tasks = SuiteBounds(
            weighed.mean / unit, self.sample.se, self.sample.df, least=least, greatest=greatest, unit=unit
        )
        return NewTaskBounds.of(tasks, weighed.bounds)

    @cached_property
    def joint(self) -> Joint:
        """The law of all tasks at once."""
        return joint(self.request.design, self.weighed.scaled, self.request.first_seed, self.request.draws)

    @cached_property
    def critical(self) -> float:
        """The critical value of the simultaneous intervals at the level asked for."""
        return self.joint.critical(self.request.alpha)

    def interval(self, bounds: Bounds, tail: float) -> Interval:
        """Return the two-sided interval at 1 - alpha."""
        low, high = bounds.ends(tail)
        return Interval(low=low, high=high, level=1 - self.request.alpha, method=bounds.method)

    def explain_no_bounds(self) -> str:
        """Say why the suite's mean has no interval; asked where `bounds` is None."""
        request, weighed = self.request, self.weighed
        if request.estimand == "new_tasks":
            if len(request.names) < 2:
                return "a single task says nothing of others like it"
            return "the tasks' values are all the same, so their spread measures nothing"
        if weighed.lone:
            return f"task '{request.names[weighed.lone[0]]}' lies in a single cluster or has a single item"
        return "nothing varies, and no range is known of the scores"
