"""Consistency of effect sizes: weighted concordance of two profiles, with the legacy scores beside it."""

from service.stats.ecs import ecs as ecs
