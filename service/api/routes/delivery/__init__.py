"""Webhooks and trackers."""
