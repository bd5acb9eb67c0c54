"""The runner: what takes longer than a request."""
