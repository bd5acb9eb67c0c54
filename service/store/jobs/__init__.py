"""Jobs, their leases and their work."""
