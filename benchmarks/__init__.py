"""Our answers beside other packages' for the same question, timed in one run."""
