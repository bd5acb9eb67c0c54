"""Deliveries, webhooks and trackers."""
