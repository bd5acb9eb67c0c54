"""Distributions of scores under which levels are computed, the least favourable ones among them."""
