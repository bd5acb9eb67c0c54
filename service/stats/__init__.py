"""Statistical tests: one module per family."""
