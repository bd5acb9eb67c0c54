"""Sealed batches, coverage, imports and runs."""
