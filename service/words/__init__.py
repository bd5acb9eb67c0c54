"""The words of people: every sentence and label by a code with values, one catalogue per language.

Folders such as `en/` hold the same rooms with the same codes, and `fonts.tex`; another language is another folder, and
nothing else. `glossary.toml` says what each thing is called in all of them.
"""

from service.words.catalogue import LANGUAGES, Language, fonts
from service.words.messages import (
    Listed,
    Message,
    Stored,
    Value,
    list_values,
    message,
    name_of_method,
    read,
    say,
    speak,
    speaking,
    spoken,
    text_of,
)
from service.words.retelling import retell

__all__ = [
    "LANGUAGES",
    "Language",
    "Listed",
    "Message",
    "Stored",
    "Value",
    "fonts",
    "list_values",
    "message",
    "name_of_method",
    "read",
    "retell",
    "say",
    "speak",
    "speaking",
    "spoken",
    "text_of",
]
