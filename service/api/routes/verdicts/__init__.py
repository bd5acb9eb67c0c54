"""Verdicts and what is read beside them."""
