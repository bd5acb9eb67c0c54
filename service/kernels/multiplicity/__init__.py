"""Several comparisons at once: corrections of p-values, where arms stand, and whether slices disagree in sign."""
