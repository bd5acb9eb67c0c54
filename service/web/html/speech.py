"""Which language a visitor reads, and the pages' own words in it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import Request
from markupsafe import Markup

import service.words
from service.errors import Fault, ForelockError
from service.reports.figures import add_zeros
from service.words import LANGUAGES, Language, catalogue
from service.words.refusals import MOST_READ, translate_refusal

COOKIE = "forelock_language"
MOST_ACCEPTED = 1000
"""Characters of `Accept-Language` that are read."""


@dataclass(frozen=True, slots=True)
class Say:
    """Says the pages' words in one language."""

    language: Language = "en"

    def __call__(self, code: str, /, **parts: object) -> str:
        """The text of a code in this language, with the parts in its braces.

        Raises:
            KeyError: no such code, or a part is missing.
        """
        return service.words.say(code, self.language, **{name: str(part) for name, part in parts.items()})


ENGLISH = Say()


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of an answer as a page shows it."""

    text: str
    lang: Markup
    """The attribute that says it is English, on a page in another language; else empty."""


def translate_sentence(room: str, english: str, language: Language) -> Sentence:
    """An English sentence in a language, where a template of the room gave it; else as it is, marked as English."""
    if language == "en":
        return Sentence(english, Markup())
    known = service.words.read(room, english) if len(english) <= MOST_READ else None
    return (
        Sentence(english, Markup(' lang="en"')) if known is None else Sentence(known.text(language), Markup())
    )


def warning_in(code: str, english: str, language: Language) -> Sentence:
    """Return a warning that was computed in English in a language, by its code; else as it is, marked as English."""
    if language == "en":
        return Sentence(english, Markup())
    template = catalogue.templates("en", "warnings").get(code)
    values = None
    if template is not None and len(english) <= MOST_READ:
        # what an earlier release stored has figures without their leading zero
        texts = (english, add_zeros(english))
        known = (template.read("warnings", text) for text in texts)
        values = next((values for values in known if values is not None), None)
    if values is None:
        return Sentence(english, Markup(' lang="en"'))
    return Sentence(catalogue.templates(language, "warnings")[code].fill(values), Markup())


def detail_in(error: ForelockError, language: Language) -> Sentence:
    """Return what a refusal says in a language, if the catalogue has it; else its English, marked as English."""
    if error.message is not None:
        return Sentence(_join_path(error, error.message.text(language), language), Markup())
    return _read_detail(error.detail, error.faults, language)


def _join_path(error: ForelockError, detail: str, language: Language) -> str:
    """Return a detail that names its field first, with the colon of the language behind the name."""
    first = f"{error.faults[0].path}: " if error.faults and error.faults[0].path else ""
    if not first or not detail.startswith(first):
        return detail
    return f"{first[:-2]}{service.words.say('lists.colon', language)}{detail.removeprefix(first)}"


def problem_in(problem: Mapping[str, Any], language: Language) -> Sentence:
    """Return the detail of a stored problem document in a language, as `detail_in` says it."""
    faults = [Fault(one["path"], one["message"], one["fix"]) for one in problem.get("errors", ())]
    return _read_detail(str(problem.get("detail", "the job failed")), faults, language)


def _read_detail(english: str, faults: Sequence[Fault], language: Language) -> Sentence:
    """A detail in a language. One that repeats its first fault is said by that: of several, as many as there are."""
    known = translate_refusal(english, language)
    if known is None and faults:
        first = fault_in(faults[0], language)
        repeats = f"{faults[0].path}: {faults[0].message}" if faults[0].path else faults[0].message
        if not first.lang and english.endswith(repeats):
            colon = service.words.say("lists.colon", language)
            known = f"{first.path}{colon}{first.message}" if first.path else first.message
    if known is None:
        return Sentence(english, Markup(' lang="en"'))
    return Sentence(known, Markup())


@dataclass(frozen=True, slots=True)
class FaultLine:
    """A fault of a field as a page shows it."""

    path: str
    message: str
    fix: str
    lang: Markup
    """The attribute that says it is English, on a page in another language; else empty."""


def fault_in(fault: Fault, language: Language) -> FaultLine:
    """Return a fault in a language, if the catalogue has it; else its English, marked as English."""
    if fault.translated is not None:
        return FaultLine(fault.path, *fault.texts(language), Markup())
    told, fix = translate_refusal(fault.message, language), translate_refusal(fault.fix, language)
    if told is None or fix is None:
        return FaultLine(fault.path, told or fault.message, fix or fault.fix, Markup(' lang="en"'))
    return FaultLine(fault.path, told, fix, Markup())


def meaning_of(code: str, language: Language) -> str:
    """What a refusal means, to stand above its English detail; empty in English, and of a code without a sentence."""
    known = language != "en" and code in catalogue.templates(language, "problems")
    return service.words.say(f"problems.{code}", language) if known else ""


def language_of(request: Request) -> Language:
    """What `?lang=` asks for, else what was asked for before, else the first of `Accept-Language` that we speak."""
    for choice in (request.query_params.get("lang"), request.cookies.get(COOKIE)):
        if choice in LANGUAGES:
            return choice
    return choose_language(request.headers.get("accept-language", ""))


def choose_language(header: str) -> Language:
    """The language of an `Accept-Language` (RFC 9110, 12.5.4): the heaviest that we speak, of equals the first."""
    best: tuple[float, Language] = (0.0, "en")
    for preference in header[:MOST_ACCEPTED].split(","):
        match = re.fullmatch(
            r"\s*+(\*|[A-Za-z]{1,8})(?:-[A-Za-z0-9-]*+)?\s*+(?:;\s*+q=([01](?:\.\d{0,3})?))?\s*+", preference
        )
        if match is None:
            continue
        language = "en" if match[1] == "*" else match[1].lower()
        weight = float(match[2] or 1)
        if language in LANGUAGES and weight > best[0]:
            best = weight, language
    return best[1]
