"""What a rule can reach at all with the planned data: the least p of its tests, of a family, and what is left of it."""
