"""Verdicts of records, and deviations from their plans."""
