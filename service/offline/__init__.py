"""What a command computes in its own process, without a service."""
