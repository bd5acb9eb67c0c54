"""What a project has sent to places outside: its webhooks and trackers, and the outbox of messages to them."""
