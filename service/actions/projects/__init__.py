"""Projects, their keys, and the links that show a record to others."""
