"""Preregistration templates of others, filled from a plan and read back."""
