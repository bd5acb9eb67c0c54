"""Checklists of reporting standards, filled from what a record knows."""
