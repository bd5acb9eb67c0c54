"""A verdict as code hosts show it: JUnit XML for the list of tests, Markdown for a summary or a comment.

Before the verdict both say how many results are in, and nothing else.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from xml.etree import ElementTree

from forelock import text

Json = Mapping[str, Any]

SIGNS = {
    "supported": "✅ supported",
    "equivalent": "🟰 equivalent within the margin",
    "not_supported": "❌ not supported (which does not show that there is no effect)",
    "inconclusive": "❓ inconclusive",
    "invalid": "⛔ invalid",
}
SPECIAL = re.compile(r"([\\`*_{}\[\]()#+!|~-])")


@dataclass(frozen=True, slots=True)
class Standing:
    """What is known of a record when somebody asks for its verdict."""

    preregistration_id: str
    url: str
    """Address of the service."""
    verdict: Json | None = field(default=None, repr=False)
    words: Json | None = field(default=None, repr=False)
    """The verdict's sentences, which begin with its headlines."""
    progress: Json | None = None
    """How many results are in; of a record without verdict."""

    def headline(self, hypothesis: str) -> tuple[str, str]:
        """Return the outcome in a line, and what was not shown; empty where they are not known."""
        spoken = {words["hypothesis"]: words for words in (self.words or {}).get("hypotheses", ())}
        return text.headline_of(spoken.get(hypothesis, {}))

    @property
    def page(self) -> str:
        """The address of the record's page."""
        return f"{self.url}/preregistrations/{self.preregistration_id}"

    @property
    def waiting(self) -> str:
        """Why there is no verdict."""
        if self.progress is None:
            return "There is no verdict yet."
        return (
            f"There is no verdict yet: {self.progress['received']} of {self.progress['expected']} results are in "
            f"({text.plain(self.progress['state'])})."
        )


def junit(standing: Standing) -> bytes:
    """JUnit XML: a test for every hypothesis, passed where it is supported; one that is skipped before the verdict."""
    verdict = standing.verdict
    hypotheses = verdict["hypotheses"] if verdict is not None else ()
    counts = {"failures": 0, "errors": 0, "skipped": 0}
    suite = ElementTree.Element("testsuite", name=_xml((verdict or {}).get("title") or "forelock"))
    for hypothesis in hypotheses:
        case = _case(
            suite,
            standing,
            f"{hypothesis['id']}: {hypothesis.get('statement') or hypothesis.get('claim') or ''}",
        )
        if hypothesis["outcome"] == "supported":
            continue
        kind, count = ("error", "errors") if hypothesis["outcome"] == "invalid" else ("failure", "failures")
        counts[count] += 1
        attributes = {
            "type": _xml(hypothesis["outcome"]),
            "message": _xml(
                standing.headline(hypothesis["id"])[0]
                or text.OUTCOMES.get(hypothesis["outcome"], hypothesis["outcome"])
            ),
        }
        element = ElementTree.SubElement(case, kind, attributes)
        element.text = _xml(text.verdict_text({"hypotheses": [hypothesis]}))
    if verdict is None:
        counts["skipped"] += 1
        ElementTree.SubElement(_case(suite, standing, "verdict"), "skipped", message=_xml(standing.waiting))
    if verdict is not None and verdict.get("marks"):
        marks = ElementTree.SubElement(suite, "system-out")
        marks.text = _xml(text.verdict_text({"hypotheses": [], "marks": verdict["marks"]}))
    suite.attrib |= {"tests": str(len(hypotheses) or 1)} | {name: str(n) for name, n in counts.items()}
    root = ElementTree.Element("testsuites")
    root.append(suite)
    document: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def _case(suite: ElementTree.Element, standing: Standing, name: str) -> ElementTree.Element:
    attributes = {"classname": _xml(f"forelock.{standing.preregistration_id}"), "name": _xml(name)}
    return ElementTree.SubElement(suite, "testcase", attributes)


def markdown(standing: Standing) -> str:
    """Return a summary in Markdown. Its first line is a comment by which a later one finds and replaces it."""
    verdict = standing.verdict
    title = (verdict or {}).get("title") or standing.preregistration_id
    lines = [f"<!-- forelock {_word(standing.preregistration_id)} -->", f"### Forelock: {_escape(title)}", ""]
    if verdict is None:
        lines += [standing.waiting, ""]
    else:
        lines += [
            f"**{text.MARKED.get(mark['effect'], 'MARKED')}**: {_escape(mark['says'])}\n"
            for mark in verdict.get("marks") or ()
        ]
        lines += _outcomes(standing, verdict["hypotheses"])
        whole = text.verdict_text(verdict).replace("```", "` ` `")
        lines += [
            "",
            "<details><summary>Clauses</summary>",
            "",
            "```text",
            whole,
            "```",
            "",
            "</details>",
            "",
        ]
    lines += [f"Locked before the results: [{_word(standing.preregistration_id)}]({_word(standing.page)})"]
    if verdict is not None and verdict.get("plan_sha256"):
        lines[-1] += f", plan SHA-256 `{_word(verdict['plan_sha256'])}`"
    return "\n".join(lines) + "\n"


def _outcomes(standing: Standing, hypotheses: Sequence[Json]) -> Iterator[str]:
    """Yield a headline for every hypothesis, or where there is none a table of their sentences."""
    if not all(standing.headline(hypothesis["id"])[0] for hypothesis in hypotheses):
        yield from ("| Hypothesis | Outcome | |", "|---|---|---|")
        for hypothesis in hypotheses:
            outcome = SIGNS.get(hypothesis["outcome"], _escape(hypothesis["outcome"]))
            sentence = _escape(hypothesis.get("sentence") or hypothesis.get("reason") or "")
            yield f"| {_escape(hypothesis['id'])} | {outcome} | {sentence} |"
        return
    for hypothesis in hypotheses:
        line, rest = standing.headline(hypothesis["id"])
        sign = SIGNS.get(hypothesis["outcome"], "").partition(" ")[0]
        yield f"**{sign} {_escape(hypothesis['id'])}: {_escape(line)}**"
        yield from ("", _escape(rest), "") if rest else ("",)


def _escape(value: object) -> str:
    """Text as it stands: no markup, no link, no mention of anybody."""
    plain = SPECIAL.sub(r"\\\1", text.plain(value))
    return plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("@", "&#64;")


def _word(value: object) -> str:
    """Return an id, hash or address: what else it holds is left out."""
    return re.sub(r"[^A-Za-z0-9._~:/%-]", "", str(value))


def _xml(value: object) -> str:
    """Text that XML 1.0 can hold."""
    return "".join(
        letter if letter == "\n" or unicodedata.category(letter) not in ("Cc", "Cf", "Cs", "Cn") else "?"
        for letter in str(value)
    )
