"""What the service says of itself while it runs: logs and traces."""
