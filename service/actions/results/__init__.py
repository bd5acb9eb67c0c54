"""Results on their way in: posting, imports, runs, progress, completing, ending, unblinding."""
