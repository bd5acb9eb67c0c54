"""Pairwise preferences between several arms: strengths by Bradley and Terry with ties, and what they carry."""

from service.stats.preference import preference as preference
