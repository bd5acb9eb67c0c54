"""Bootstrap intervals: exact where they can be, drawn where not."""
