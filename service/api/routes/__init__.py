"""The operations: one module per noun."""
