"""Paired proportions and bounded means: McNemar, Tango, exact tests, Gaffke's bound."""
