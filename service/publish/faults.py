"""What comes of calls to the outside when no usable answer does."""

from __future__ import annotations


class OutgoingFault(Exception):
    """A call that got no usable answer, in one sentence that holds nothing of what was sent."""


class Forbidden(OutgoingFault):
    """The call was not made: its address is not one that may be called."""


class Unanswered(OutgoingFault):
    """Nobody answered, or not in time, or too much. Asking again later may help."""
