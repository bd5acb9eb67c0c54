"""The server: doors at the top, arithmetic at the bottom."""
