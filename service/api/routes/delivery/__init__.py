"""Webhooks and trackers over HTTP: where a project has events sent, and what became of them."""
