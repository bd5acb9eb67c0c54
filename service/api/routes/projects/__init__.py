"""Projects, keys, view links and the audit log."""
