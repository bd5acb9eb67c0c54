"""Sequential designs: group-sequential boundaries and tests, the e-process, the confidence sequence."""
