"""Judging: from outcomes over tests, families and stopping rules to a verdict."""
