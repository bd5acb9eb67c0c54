"""A page whose requests are watched."""

from __future__ import annotations


def watched(page):
    """What the page asks for, and what it complains about."""
    asked, complaints = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    return asked, complaints
