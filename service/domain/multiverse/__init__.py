"""Every hypothesis under the other choices on record."""
