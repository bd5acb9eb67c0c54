"""What can be wrong with a proof, in two words: it cannot be read, or it does not hold."""

from __future__ import annotations


class TransparencyFault(ValueError):
    """Base of what this package raises. Its sentence fits behind "the checkpoint: "."""


class Malformed(TransparencyFault):
    """The text is not of its format: nothing was checked."""


class Unproven(TransparencyFault):
    """The text is well formed, and what it claims does not follow."""
