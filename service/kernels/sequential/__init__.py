"""Looks before the end: e-processes, confidence sequences, group-sequential boundaries."""
