"""Records before their results: registering, locking, amending, families, manifests, links."""
