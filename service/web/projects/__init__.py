"""Pages about a project: its series, and for admins its keys, jobs, and what was done."""
