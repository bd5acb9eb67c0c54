"""Departures from a locked plan: how they are classified, and what they do to the verdict."""
