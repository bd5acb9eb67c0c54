"""The questions of preregistration templates, and the sections of a plan that answer each."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Literal, get_args

TemplateName = Literal["osf", "aspredicted"]
TEMPLATES: tuple[TemplateName, ...] = get_args(TemplateName)
FRONT = ""
"""The section of what stands before the others: title, days, and parts without a section."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question, as its heading names it."""

    heading: str
    sections: tuple[str, ...] = ()
    """Of a plan, as EXPERIMENTS_PREREG.md has them; none: a plan does not answer it."""


@dataclass(frozen=True, slots=True)
class Template:
    """A template: its name, which is the first heading of a file, and its questions in order."""

    title: str
    url: str
    questions: tuple[Question, ...]


def _read_templates() -> Mapping[TemplateName, Template]:
    """Read the templates and their questions from the file beside this module."""
    data = tomllib.loads((Path(__file__).parent / "questions.toml").read_text("utf-8"))
    return {
        name: Template(
            data[name]["title"],
            data[name]["url"],
            tuple(
                Question(question["heading"], tuple(question["sections"]))
                for question in data[name]["questions"]
            ),
        )
        for name in TEMPLATES
    }


QUESTIONS: Mapping[TemplateName, Template] = MappingProxyType(_read_templates())
"""OSF Preregistration, version 3, and the questions of aspredicted.org, each by its own heading."""
