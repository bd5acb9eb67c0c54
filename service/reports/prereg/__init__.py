"""A preregistration as Markdown, written and read back."""
