"""Experiments fetched from where teams keep them, by whoever may read them there."""
