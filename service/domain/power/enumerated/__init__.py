"""A rule over every outcome of independent binary pairs."""
