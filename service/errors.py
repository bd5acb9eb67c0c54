"""Everything that can go wrong, said once: a status, a stable code, a sentence and the way out."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from typing_extensions import override


class Translated(Protocol):
    """A sentence that is kept as a code with values until somebody reads it in a language."""

    def text(self, language: str) -> str:
        """Return the sentence in a language, by its tag (BCP 47)."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of one field, and the way out. Never holds the value a caller sent: it could be an outcome."""

    path: str
    message: str
    fix: str
    translated: tuple[Translated, Translated] | None = None
    """The message and the fix as codes with values; None: they are said in English alone."""

    def texts(self, language: str) -> tuple[str, str]:
        """Return the message and the fix in a language, by its tag; in English where they are said in no other."""
        if self.translated is None:
            return self.message, self.fix
        message, fix = self.translated
        return message.text(language), fix.text(language)

    def document(self) -> dict[str, str]:
        """Return the fault as a problem document holds it, in English."""
        return {"path": self.path, "message": self.message, "fix": self.fix}


@dataclass(frozen=True, slots=True)
class _AtField:
    """What is wrong with a field, behind its name."""

    path: str
    message: Translated

    def text(self, language: str) -> str:
        """Return the sentence in a language, by its tag (BCP 47)."""
        return f"{self.path}: {self.message.text(language)}"


class ForelockError(Exception):
    """Base of every error that becomes a problem document (RFC 9457)."""

    status: ClassVar[int] = 500
    code: ClassVar[str] = "internal_error"
    title: ClassVar[str] = "Something failed on our side"

    def __init__(
        self, detail: str | Translated, faults: Sequence[Fault] = (), *, code: str | None = None
    ) -> None:
        self.message = None if isinstance(detail, str) else detail
        self.detail = _in_english(detail)
        super().__init__(self.detail)
        self.faults = tuple(faults)
        self.problem_code = code or self.code

    @override
    def __reduce__(self) -> tuple[Any, ...]:
        """To another process and back."""
        return _again, (type(self), self.message or self.detail, self.faults, self.problem_code)

    def document(self, detail: str | None = None) -> dict[str, Any]:
        """Return the error as a problem document; a `detail` in place of its own leaves its faults out too."""
        faults = self.faults if detail is None else ()
        return {
            "type": f"urn:forelock:problem:{self.problem_code}",
            "title": self.title,
            "status": self.status,
            "detail": self.detail if detail is None else detail,
            "code": self.problem_code,
            "errors": [fault.document() for fault in faults],
        }


def _in_english(sentence: str | Translated) -> str:
    return sentence if isinstance(sentence, str) else sentence.text("en")


def _again(
    kind: type[ForelockError], detail: str | Translated, faults: tuple[Fault, ...], problem_code: str
) -> ForelockError:
    return kind(detail, faults, code=problem_code)


class InvalidData(ForelockError):
    """The request is well formed but its content cannot be used."""

    status, code, title = 422, "invalid_data", "The data cannot be used"

    @classmethod
    def field(cls, path: str, message: str | Translated, fix: str | Translated) -> InvalidData:
        """One faulty field: the sentence serves as the detail too. Where one is said in English alone, both are."""
        if isinstance(message, str) or isinstance(fix, str):
            fault = Fault(path, _in_english(message), _in_english(fix))
            return cls(f"{path}: {fault.message}" if path else fault.message, [fault])
        fault = Fault(path, message.text("en"), fix.text("en"), (message, fix))
        return cls(_AtField(path, message) if path else message, [fault])


class MalformedBody(ForelockError):
    """The body cannot be read as what its content type says."""

    status, code, title = 400, "malformed_body", "The body cannot be read"


class MissingIdempotencyKey(ForelockError):
    """A write that must be retryable came without its key."""

    status, code, title = 400, "idempotency_key_required", "Send an Idempotency-Key"


class Unauthorized(ForelockError):
    """No API key, or one that is unknown, expired or revoked."""

    status, code, title = 401, "unauthorized", "A valid API key is needed"


class Forbidden(ForelockError):
    """The API key lacks the scope."""

    status, code, title = 403, "forbidden", "The API key may not do this"


class NotFound(ForelockError):
    """No such record in this project."""

    status, code, title = 404, "not_found", "No such record"


class RequestTimeout(ForelockError):
    """The body did not come in time."""

    status, code, title = 408, "request_timeout", "The body took too long"


class Conflict(ForelockError):
    """The record is in a state that does not allow this."""

    status, code, title = 409, "conflict", "The record's state does not allow this"


class Blinded(Conflict):
    """Outcomes may not be read before the planned n is in."""

    code, title = "blinded", "Results are blinded until the planned n is in"


class PreconditionFailed(ForelockError):
    """`If-Match` names an older version."""

    status, code, title = 412, "precondition_failed", "The record has changed"


class TooLarge(ForelockError):
    """The body is larger than `/v1/limits` says."""

    status, code, title = 413, "body_too_large", "The body is too large"


class UnsupportedMediaType(ForelockError):
    """The content type is not one this route reads."""

    status, code, title = 415, "unsupported_media_type", "The content type is not supported"


class PreconditionRequired(ForelockError):
    """The write has to say in `If-Match` which version it changes."""

    status, code, title = 428, "precondition_required", "Send If-Match"


class RecordAltered(ForelockError):
    """What is stored is not what was locked, judged or answered, or cannot be read: it is neither used nor served."""

    code, title = "record_altered", "A stored record was altered"

    def __init__(self, kind: str, subject: str) -> None:
        super().__init__(
            f"the {kind} of {subject} is stored otherwise than it was locked, judged or answered, so it is not used; "
            "whoever runs the service finds it in the log, and a backup has it whole"
        )
        self.kind, self.subject = kind, subject


class TooMany(ForelockError):
    """More than a project, or a key, may have at a time."""

    status, code, title = 429, "too_many", "There are as many as there may be"


class TooFast(ForelockError):
    """Asked for more often than it is answered to everybody."""

    status, code, title = 429, "too_fast", "This is asked for too often"


class ArtefactLost(ForelockError):
    """A file that was kept cannot be had any more, or is another; the rows that came from it stand."""

    status, code, title = 410, "artefact_missing", "The kept file cannot be had"


class Unavailable(ForelockError):
    """The service cannot answer now; the same request may succeed later."""

    status, code, title = 503, "unavailable", "Try again shortly"


class StorageFull(Unavailable):
    """There is no room to store anything; what was stored stays, and reading goes on."""

    status, code, title = 507, "storage_full", "The disk is full"
    sentence: ClassVar[str] = (
        "the disk is full: nothing was stored; repeat the request when the operator has made room"
    )


class ReadOnly(Unavailable):
    """The database can be read and takes no writes: its file system was remounted, or it is a standby."""


@contextmanager
def refuse_when_full() -> Iterator[None]:
    """Raise `StorageFull` of a file that has no room, also where closing it fails, which writes what is left."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise StorageFull(StorageFull.sentence) from None
