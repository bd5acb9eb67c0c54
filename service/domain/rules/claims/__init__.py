"""Claims, what a rule asserts, and how the two are compared."""
