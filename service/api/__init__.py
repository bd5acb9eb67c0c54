"""The HTTP API: what comes in is read and checked here, what goes out is written here."""
