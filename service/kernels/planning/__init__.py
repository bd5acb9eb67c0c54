"""Power, sample size and allocation."""
