"""What a chat is sent: its own shape, and no word of a title that it would take for more than a word."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest

from service.domain.outgoing import EVENTS, PING, WebhookFormat
from service.publish.chats import MOST, SHAPES, shape_message, text_of

URL = "https://evals.example.org/preregistrations/4f"
HOSTILE = "@everyone <!channel> <https://evil.example|here> [here](https://evil.example) **A & B** `x` <@123>"
VERDICT: dict[str, Any] = {
    "title": "Caching",
    "url": URL,
    "hypotheses": [{"id": "H1", "headline": {"en": "B beat A: +2.0 pp", "zh": ""}, "sentence": "long"}],
}


def sent(shape: WebhookFormat, event: str = "preregistration.locked", **data: Any) -> dict[str, Any]:
    return json.loads(shape_message(shape, event, {"title": "Caching", "url": URL, **data}))


def test_every_shape_is_made() -> None:
    assert {"standard", *SHAPES} == set(get_args(WebhookFormat))


@pytest.mark.parametrize("event", [*EVENTS, PING])
def test_a_message_says_what_happened_to_what(event: str) -> None:
    assert ("Caching" in text_of(event, {"title": "Caching"})) is (event != PING)


def test_a_verdict_has_a_line_for_every_hypothesis() -> None:
    assert text_of("verdict.published", VERDICT) == "Verdict: Caching\nH1: B beat A: +2.0 pp"


def test_slack_takes_text_and_blocks_and_reads_no_markup_in_a_title() -> None:
    message = sent("slack", title=HOSTILE)
    assert set(message) == {"text", "blocks"}
    first, second = message["blocks"]
    assert first["text"] == {"type": "plain_text", "text": f"Plan locked: {HOSTILE}", "emoji": False}
    assert second["text"] == {"type": "mrkdwn", "text": f"<{URL}|Open the record>"}
    assert not set("<>") & set(message["text"].removesuffix(URL))


def test_teams_takes_one_adaptive_card_whose_text_is_no_markdown() -> None:
    message = sent("teams", title=HOSTILE)
    assert message["type"] == "message"
    (attachment,) = message["attachments"]
    assert attachment["contentType"] == "application/vnd.microsoft.card.adaptive"
    card = attachment["content"]
    assert (card["type"], card["version"]) == ("AdaptiveCard", "1.4")
    assert card["body"] == [
        {"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": f"Plan locked: {HOSTILE}"}]}
    ]
    assert card["actions"] == [{"type": "Action.OpenUrl", "title": "Open the record", "url": URL}]


def test_discord_mentions_nobody_and_stays_within_its_limit() -> None:
    message = sent("discord", title=HOSTILE)
    assert message["allowed_mentions"] == {"parse": []}
    line = message["content"].splitlines()[0]
    assert line.replace("\\", "") == f"Plan locked: {HOSTILE}"
    assert all(line[at - 1] == "\\" for at, letter in enumerate(line) if letter in "*`[]<>@")
    longest = sent("discord", title="*" * 5000)["content"]
    assert len(longest) <= 2000
    assert longest.endswith(f"\n{URL}")


def test_others_take_a_text() -> None:
    assert sent("text") == {"text": f"Plan locked: Caching\n{URL}"}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_service_without_an_address_of_its_own_links_nowhere(shape: WebhookFormat) -> None:
    body = shape_message(
        shape, "verdict.published", {name: VERDICT[name] for name in ("title", "hypotheses")}
    )
    assert b"Open the record" not in body
    assert b"evals.example" not in body


@pytest.mark.parametrize("count", [0, 20, 200])
def test_a_long_verdict_is_cut_and_says_so(count: int) -> None:
    text = text_of("verdict.published", {**VERDICT, "hypotheses": VERDICT["hypotheses"] * count})
    assert len(text) <= MOST
    assert text.endswith("…") is (count == 200)


@pytest.mark.parametrize("shape", list(SHAPES))
def test_a_title_reads_as_it_is_written(shape: WebhookFormat) -> None:
    said = json.dumps(sent(shape, title="safe \u202edelbaso\u2066 \u200fend"), ensure_ascii=False)
    assert not {"\u202e", "\u2066", "\u200f"} & set(said)
    assert "safe delbaso end" in said
