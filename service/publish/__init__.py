"""The one place for outgoing HTTP; nothing goes out yet."""
