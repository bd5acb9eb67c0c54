"""The database: SQL stays here."""
