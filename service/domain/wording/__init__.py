"""Lint of an author's text."""
