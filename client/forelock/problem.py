"""What went wrong, as an exception: a problem document of the service, or no answer at all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


class ForelockError(Exception):
    """Base of every error this package raises."""


class Unreachable(ForelockError):
    """The service gave no answer, after all retries."""


class VerdictTimeout(ForelockError):
    """The verdict did not come within the time given."""


class JobTimeout(ForelockError):
    """The computation did not end within the time given."""


class FileFault(ForelockError):
    """A file cannot be read as what it should hold. Never tells a value that is one: it could be an outcome."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One faulty field and the way out."""

    path: str
    message: str
    fix: str = ""

    @property
    def sentence(self) -> str:
        """What is the matter, and where."""
        return f"{self.path}: {self.message}" if self.path else self.message


MOST_FAULTS = 100
"""Of one refusal; a service names twenty."""


class ForelockProblem(ForelockError):
    """The service refused (RFC 9457): its status, stable code, sentence and faulty fields."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        errors: tuple[Fault, ...] = (),
        request_id: str | None = None,
    ) -> None:
        super().__init__(f"{code}: {detail}")
        self.status = status
        self.code = code
        self.detail = detail
        self.errors = errors
        self.request_id = request_id
        self.translated: ForelockProblem | None = None
        """The same in the language of whoever asked, where the package that refused has it."""

    @classmethod
    def from_document(
        cls, document: Mapping[str, Any], status: int = 0, request_id: str | None = None
    ) -> ForelockProblem:
        """Return a problem from its JSON members."""
        errors, stated = document.get("errors"), document.get("status")
        faults = tuple(
            Fault(str(error.get("path", "")), str(error.get("message", "")), str(error.get("fix", "")))
            for error in (errors[:MOST_FAULTS] if isinstance(errors, list) else ())
            if isinstance(error, dict)
        )
        return cls(
            stated if type(stated) is int and stated else status,
            str(document.get("code") or f"http_{status}"),
            str(document.get("detail") or document.get("title") or "the service gave no reason"),
            faults,
            request_id,
        )


class AnswerLacks(ForelockProblem, KeyError):
    """An answer has no such member: it is not one of a Forelock service, or of another version."""

    def __init__(self, name: object) -> None:
        super().__init__(200, "not_forelock", f"the service's answer has no '{name}'")

    __str__ = Exception.__str__  # that of KeyError shows a repr
