"""Sizes of an effect: on one scale, standardized, as Bayes factors, from preferences, and helped by predictions."""
