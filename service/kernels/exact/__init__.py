"""Distributions of resampling without resamples: on a lattice, or by inverting a characteristic function."""
