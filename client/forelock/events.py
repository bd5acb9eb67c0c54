"""Events that a webhook may ask for, and shapes of its messages.

Made by `python -m tools.pages.registers`; change what is declared in the service, not this module.
"""

from __future__ import annotations

EVENTS = (
    "preregistration.locked",
    "preregistration.amended",
    "preregistration.closed",
    "preregistration.withdrawn",
    "preregistration.unblinded",
    "deviation.filed",
    "verdict.published",
)
FORMATS = (
    "standard",
    "slack",
    "teams",
    "discord",
    "text",
)
