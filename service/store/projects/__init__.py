"""Projects, keys, view links, sessions that ended, the audit log."""
