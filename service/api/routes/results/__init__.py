"""Results in: batches, imports, runs, rows, unblinding, endings."""
