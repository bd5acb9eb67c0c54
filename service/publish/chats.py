"""Messages for chats: what the incoming webhooks of Slack, Teams and Discord take, and a plain text for others.

A title is somebody's words: each shape takes it as text, so that it can call nobody, link nowhere and draw nothing.

Sources:
    Slack: "Sending messages using incoming webhooks", "Formatting text for app surfaces" (escape &, < and >).
    Teams: "Create incoming webhooks with Workflows": a message with one Adaptive Card, version 1.4.
    Discord: "Execute Webhook": `content` of 2,000 characters at most, `allowed_mentions`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from service.domain.outgoing import PING, Event, WebhookFormat
from service.words import say

LINES: Mapping[str, str] = {event.value.name: event.value.line for event in Event} | {PING: "chats.ping"}
MOST = 1800
"""Characters of text: Discord takes 2,000 with the address, Slack's sections 3,000."""

_DIRECTIONS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Characters that turn the direction of what follows: a title with one would read otherwise than it is written."""


def shape_message(shape: WebhookFormat, event: str, data: Mapping[str, Any]) -> bytes:
    """Return the body of a message in a chat's shape."""
    document = SHAPES[shape](text_of(event, data), data.get("url"))
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def text_of(event: str, data: Mapping[str, Any]) -> str:
    """Return the lines of a message, without markup."""
    lines = [say(LINES[event], title=data.get("title", ""))]
    lines += [
        f"{hypothesis['id']}: {hypothesis['headline']['en']}" for hypothesis in data.get("hypotheses", ())
    ]
    text = _DIRECTIONS.sub("", "\n".join(lines))
    return text if len(text) <= MOST else text[: MOST - 1] + "…"


def _slack(text: str, url: str | None) -> dict[str, Any]:
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    fallback = escaped if url is None else f"{escaped}\n{url}"
    blocks: list[dict[str, Any]] = [
        {"type": "section", "text": {"type": "plain_text", "text": text, "emoji": False}}
    ]
    if url is not None:
        blocks.append({"type": "section", "text": {"type": "mrkdwn", "text": f"<{url}|Open the record>"}})
    return {"text": fallback, "blocks": blocks}


def _shape_for_teams(text: str, url: str | None) -> dict[str, Any]:
    """Shape a message as Microsoft Teams takes it: an adaptive card, with a button where there is a page."""
    body = [
        # A text block reads Markdown, a text run does not.
        {"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": line}]}
        for line in text.split("\n")
    ]
    card: dict[str, Any] = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": body,
    }
    if url is not None:
        card["actions"] = [{"type": "Action.OpenUrl", "title": "Open the record", "url": url}]
    attachment = {
        "contentType": "application/vnd.microsoft.card.adaptive",
        "contentUrl": None,
        "content": card,
    }
    return {"type": "message", "attachments": [attachment]}


def _discord(text: str, url: str | None) -> dict[str, Any]:
    escaped = re.sub(r"([\\`*_~|>#\[\]()<:@-])", r"\\\1", text)
    whole = escaped[:MOST] if url is None else f"{escaped[:MOST]}\n{url}"
    return {"content": whole, "allowed_mentions": {"parse": []}}


def _text(text: str, url: str | None) -> dict[str, Any]:
    return {"text": text if url is None else f"{text}\n{url}"}


SHAPES: Mapping[WebhookFormat, Callable[[str, str | None], dict[str, Any]]] = {
    "slack": _slack,
    "teams": _shape_for_teams,
    "discord": _discord,
    "text": _text,
}
