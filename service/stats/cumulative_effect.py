"""The effect against the number of items, with a pointwise band and a confidence sequence."""
