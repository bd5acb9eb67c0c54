"""The one place for outgoing HTTP."""
