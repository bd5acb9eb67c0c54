"""Power of a rule on two arms: by enumeration or simulation, the effects it detects, and the slices beside it."""
