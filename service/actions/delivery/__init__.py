"""What leaves for others: announcements in the outbox, messages of webhooks, tracking."""
