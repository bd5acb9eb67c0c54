"""What every operation shares: bodies, keys, problems, pages, retries, and what stands around the routes."""
