"""A whole plan on simulated data."""
