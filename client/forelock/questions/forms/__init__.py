"""Answers in words: one form for all questions, and of each what it fills in."""
