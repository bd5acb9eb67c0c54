"""What an operator starts and asks for: preparing to serve, backups, the log's commands."""
