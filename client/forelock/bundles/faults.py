"""What can be wrong with a bundle."""

from __future__ import annotations


class Broken(ValueError):
    """The file is not a bundle, or not a whole one. One sentence, and nothing of what it holds."""
