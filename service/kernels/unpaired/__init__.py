"""Two arms on different items."""
