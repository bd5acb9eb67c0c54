"""Records and their plans, keys, populations, families and links."""
