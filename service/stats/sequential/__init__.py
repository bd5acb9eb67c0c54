"""Sequential designs: group-sequential boundaries and tests, the e-process, the confidence sequence."""

from service.stats.sequential import sequential as sequential
