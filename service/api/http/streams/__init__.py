"""Looks at the database that everybody who waits shares."""
