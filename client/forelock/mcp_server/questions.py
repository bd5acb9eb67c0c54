"""Questions to result files, as an agent asks them: the command line's own answers."""

from __future__ import annotations

import contextlib
import io
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from forelock import text
from forelock.problem import FileFault, ForelockError, ForelockProblem
from forelock.questions.forms.form import as_text
from forelock.words import Say

Ask = Callable[[Sequence[str]], list[Any]]
"""What `forelock ARGUMENTS` would print: of each answer its form, its JSON, and its remarks."""
Answer = tuple[str, dict[str, Any]]
"""For people, and for programs."""
Option = str | float | bool | Sequence[str] | None


class Refused(Exception):
    """Why there is no answer, in sentences with the way out."""


class Questions:
    """Asks one question at a time: what a command says beside its answer goes through this process's own streams."""

    def __init__(self, ask: Ask, folder: Path, service: Sequence[str] = (), language: str = "en") -> None:
        """Files are looked for in the folder alone; `service` are the options that name one."""
        self._ask, self._folder, self._service, self._language = ask, folder.resolve(), service, language
        self._turn = threading.Lock()

    def answer(self, question: str, files: Sequence[str], options: Mapping[str, Option]) -> Answer:
        """Return the answer of `forelock QUESTION FILES` with options by name.

        Raises:
            Refused: what the command would say on its way out.
        """
        with refusals():
            paths = [str(self.path(file)) for file in files]
        arguments = [question, *paths, *_write_options(options), *self._service, f"--lang={self._language}"]
        complaints = io.StringIO()
        with self._turn, refusals(), contextlib.redirect_stderr(complaints):
            try:
                answers = self._ask(arguments)
            except SystemExit:
                raise Refused(complaints.getvalue().strip().rpartition("error: ")[2]) from None
        form, document, remarks = answers[0]
        return as_text(form, remarks, say=Say(self._language)), dict(document)

    def path(self, name: str) -> Path:
        """Return a file or folder by its name, which lies in the folder that was opened to agents.

        Raises:
            FileFault: it lies elsewhere.
        """
        path = (self._folder / name).resolve()
        if not path.is_relative_to(self._folder):
            raise FileFault(
                f"{text.plain(name)}: lies outside of {self._folder}; name a file in it, "
                "or have `forelock mcp` started with --folder"
            )
        return path


@contextlib.contextmanager
def refusals() -> Iterator[None]:
    """The client's refusals in the words of a terminal."""
    try:
        yield
    except ForelockProblem as problem:
        raise Refused(text.problem_text(problem)) from None
    except ForelockError as error:
        raise Refused(text.plain(error)) from None


def _write_options(options: Mapping[str, Option]) -> Iterator[str]:
    """Options as they stand on a command line; what is None or false says nothing."""
    for name, value in options.items():
        flag = f"--{name.replace('_', '-')}"
        if value is True:
            yield flag
        elif name == "lower" and value is False:
            yield "--no-lower"
        elif isinstance(value, Sequence) and not isinstance(value, str):
            yield from (f"{flag}={element}" for element in value)
        elif value is not None and value is not False:
            yield f"{flag}={value}"
