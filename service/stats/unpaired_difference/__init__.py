"""The difference of two arms on different items."""

from service.stats.unpaired_difference.unpaired_difference import unpaired_difference as unpaired_difference
