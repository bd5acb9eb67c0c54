"""What the mapping of a plan makes of samples: rows of every arm and endpoint; what it leaves open is refused."""
