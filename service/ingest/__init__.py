"""Files and columns from outside, read into records."""
