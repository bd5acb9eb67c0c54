"""What the parts of a verdict say by themselves, in every language: every test's sentence, and why a clause is open.

A verdict keeps both as English sentences. The templates that made them say them anew in another language; where none
does, as of a verdict of another release, the English stands with a word that it is all there is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from pydantic import Field, create_model

from service.domain.rules.answers import Answer
from service.domain.verdicts.records import HypothesisVerdict
from service.domain.verdicts.words.reasons import reason_message
from service.records import Record
from service.words import LANGUAGES, Language, Value, message, read, retell, text_of


class _Words(Record):
    """What is said, at least in English."""

    en: str

    def of(self, language: Language) -> str:
        """Return the text in one of the languages; members are called as they are."""
        text: str = getattr(self, language)
        return text

    if TYPE_CHECKING:

        def __init__(self, **texts: str) -> None: ...
        def __getattr__(self, language: str) -> str: ...


if TYPE_CHECKING:
    Words: TypeAlias = _Words
else:
    Words = create_model(
        "Words",
        __base__=_Words,
        __module__=__name__,
        __doc__=f"The same said in {'two' if len(LANGUAGES) == 2 else len(LANGUAGES)} languages.",
        **dict.fromkeys(LANGUAGES, (str, ...)),
    )


class AnswerWords(Record):
    """What a test said of a hypothesis."""

    id: str = Field(description="The test, as the plan calls it.")
    says: Words = Field(
        description="The English one is that of the verdict; empty where the test said nothing."
    )


class ClauseWords(Record):
    """Why a clause cannot be decided."""

    clause: str
    why: Words


def words_by(say: Callable[[Language], str]) -> Words:
    """Return what a function says in a language, in all of them."""
    return Words(**{language: say(language) for language in LANGUAGES})


NO_WORDS = words_by(lambda _: "")


def in_words(value: Value) -> Words:
    """Return a message in every language."""
    return words_by(partial(text_of, value))


def answers_in_words(judged: HypothesisVerdict) -> tuple[AnswerWords, ...]:
    """Return the sentence of every test of a hypothesis, or why it has none."""
    return tuple(AnswerWords(id=name, says=says) for name, says in _answers(judged))


def _answers(judged: HypothesisVerdict) -> Iterator[tuple[str, Words]]:
    for name, stored in judged.analyses.items():
        answer = Answer(stored)
        sentence = answer.analysis.member("sentence") if answer.has_analysis else None
        english = str(sentence or stored.get("reason") or "")
        yield name, words_by(partial(tell_answer, english))


def tell_answer(english: str, language: Language) -> str:
    """Return a test's sentence as a verdict keeps it, or the reason why there is none, in a language."""
    if language == "en" or not english:
        return english
    retold = retell(english, language)
    if retold is not None:
        return retold
    reason = read("reasons", english)
    if reason is not None:
        return reason.text(language)
    return message("verdicts.in_english_alone", sentence=english).text(language)


def open_clauses(judged: HypothesisVerdict) -> tuple[ClauseWords, ...]:
    """Return why clauses of the rule cannot be decided, of those that say why."""
    return tuple(
        ClauseWords(clause=clause.text, why=in_words(reason_message(clause.reason)))
        for clause in judged.clauses
        if clause.reason
    )
