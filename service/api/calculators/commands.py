"""What may be asked of uploaded files: the questions, the options of each, and the command that it becomes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from service.errors import Fault, InvalidData, NotFound
from service.words import message

MOST_BYTES = 32 * 1024 * 1024
"""Bytes of all files of a question together; larger ones are for the command line, which sends none."""
MOST_TEXT = 200
"""Characters of one option."""
MOST_LINES = 20
"""Times that one option may be sent."""
FLAGS = frozenset({"lower", "common", "unpaired", "items", "new-tasks"})
"""Options that are `true` or `false`."""
REPEATED = frozenset({"set", "allow-different", "covariate", "effect"})
"""Options that may be sent more than once."""
_FILES = ("metric", "set", "format", "lang")
_SUITE = ("suite", "weights")
WEIGHTS = ("equal", "items")
"""What `weights` may say here: a file of weights would be one of the server's."""
_SHARED = ("cluster", "slice", *_FILES, "lower", "alpha")
OPTIONS: Mapping[str, tuple[str, ...]] = {
    "score": ("at-least", "at-most", "arm", "range", "missing", *_SUITE, "new-tasks", *_SHARED),
    "gate": (
        *("margin", "range", "arms", "missing", "unseen", "unpaired", "covariate", "items"),
        *("allow-different", *_SUITE, "new-tasks", *_SHARED),
    ),
    "rank": ("arms", "common", "missing", "allow-different", *_SUITE, *_SHARED),
    "noise": (
        *("arms", "cost-item", "cost-run", "cost-judge", "budget", "most-items", "at-least"),
        *("cluster", "slice", "allow-different", "alpha", *_FILES),
    ),
    "items": ("arms", "allow-different", *_FILES),
    "resolve": ("arms", "effect", "cluster", "allow-different", "alpha", *_FILES),
}
"""By question the options of `forelock QUESTION` that a stranger may set: none names a file or an address."""


def make_command(question: str, names: Sequence[str], options: Mapping[str, Sequence[str]]) -> list[str]:
    """Make the arguments of `forelock` that ask a question of files of these names.

    Args:
        question: one of `OPTIONS`.
        names: of the files in their order, as `file_names` gives them.
        options: by name without dashes the values that were sent; values of no characters say nothing.

    Raises:
        NotFound: there is no such question.
        InvalidData: no file, an option that the question does not have, or one that is too long or sent twice.

    Example:
        >>> command_of("gate", ["old.csv", "new.csv"], {"margin": ["2pp"], "lower": ["false"]})
        ['gate', 'old.csv', 'new.csv', '--margin=2pp', '--no-lower']
    """
    if question not in OPTIONS:
        raise NotFound(f"there is no such question; there are {', '.join(OPTIONS)}")
    filled = {name: [value for value in values if value] for name, values in options.items()}
    faults = [fault for name, values in filled.items() for fault in _list_faults(question, name, values)]
    if faults:
        raise InvalidData(f"{faults[0].path}: {faults[0].message}", faults[:20])
    if not names:
        raise InvalidData.field("file", message("refusals.no_file"), message("refusals.choose_a_file"))
    arguments = [question, *names]
    for name in OPTIONS[question]:
        for value in filled.get(name, ()):
            if name in FLAGS:
                arguments += _format_flag(name, value)
            else:
                arguments.append(f"--{name}={value}")
    return arguments


def _format_flag(name: str, value: str) -> list[str]:
    """Format a flag; of those that are false `lower` alone has an option, `--no-lower`."""
    if value == "true":
        return [f"--{name}"]
    return [f"--no-{name}"] if name == "lower" else []


def _list_faults(question: str, name: str, values: Sequence[str]) -> list[Fault]:
    """List what is wrong with the values of one option of a question."""
    known = OPTIONS[question]
    if name not in known:
        if not values:
            return []
        return [Fault(name[:64], f"is no option of {question}", f"{question} takes {', '.join(known)}")]
    most = MOST_LINES if name in REPEATED else 1
    if len(values) > most:
        return [Fault(name, "is sent more often than it is read", f"send at most {most}")]
    if any(len(value) > MOST_TEXT for value in values):
        return [Fault(name, f"is longer than {MOST_TEXT} characters", "say it shorter")]
    if any("\0" in value for value in values):
        return [Fault(name, "holds a NUL character", "leave it out")]
    if name == "weights" and not set(values) <= set(WEIGHTS):
        return [
            Fault(
                name, "is neither equal nor items", "send equal or items; the command line takes a file too"
            )
        ]
    if name in FLAGS and not set(values) <= {"true", "false"}:
        return [Fault(name, "is neither true nor false", "send true or false")]
    return []
