"""Documents made of records."""
