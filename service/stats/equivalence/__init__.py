"""Equivalence, non-inferiority, superiority and minimum effect, read off one interval and two tests."""

from service.stats.equivalence import equivalence as equivalence
