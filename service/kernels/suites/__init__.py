"""Means of several tasks under weights: their error, bounds that know of rare losses, and all tasks at once."""
