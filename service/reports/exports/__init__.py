"""Records in the formats of others, so that tools that exist can read them."""
