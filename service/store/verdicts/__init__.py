"""Verdicts and deviations."""
