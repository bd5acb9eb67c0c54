"""Several tasks at once: the mean of a suite under weights, every task beside it, and which tasks lost."""

from service.stats.suite.suite import suite as suite
