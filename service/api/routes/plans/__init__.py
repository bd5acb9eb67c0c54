"""Records: registering, locking, amending, families, populations, receipts, badges."""
