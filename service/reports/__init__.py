"""Documents and pictures that are made of records."""
