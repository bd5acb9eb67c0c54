"""A run of an MLflow tracking server over its REST API: tags, metrics, description, artifacts.

Everything is written so that writing it twice leaves what writing it once does: tags are set, a metric with the same
key, time, step and value is stored once, the description has one part that is ours, an artifact is put.
"""

from __future__ import annotations

import json
import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from service.publish.faults import OutgoingFault, Unanswered

if TYPE_CHECKING:  # who makes a message calls nobody
    from service.publish.http import Answer, Outgoing

LIMIT, SHORT = 2 * 2**20, 64 * 2**10
"""Bytes of an answer: of a run with all its tags and metrics, and of every other call."""
MOST_CONTAINERS = 50_000
"""Objects and arrays of a run: counted before they are parsed, since they take far more memory than their bytes."""
MOST_TAGS, MOST_METRICS, MOST_TAG = 100, 1000, 8000
"""Of one call, and characters of a tag, beyond which MLflow cuts silently."""
NOTE = "mlflow.note.content"
_API = "/api/2.0/mlflow/"
_FILES = "/api/2.0/mlflow-artifacts/artifacts/"
_ARTIFACTS = "mlflow-artifacts:"
_PATH = frozenset(string.ascii_letters + string.digits + "_./-")
_LONGEST_URI = 2000


class RunGone(OutgoingFault):
    """MLflow has no such run, or it was deleted there: asking again does not help."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A number at a time, in milliseconds since 1970."""

    key: str
    value: float
    timestamp: int


@dataclass(frozen=True, slots=True)
class Push:
    """What a run is to say of a record."""

    record: str
    tags: Mapping[str, str]
    metrics: Sequence[Metric] = ()
    note: str | None = None
    files: Mapping[str, bytes] = field(default_factory=dict)
    receipt: str | None = None
    """What a tag says where the server takes no artifacts."""


@dataclass(frozen=True, slots=True)
class MlflowServer:
    """One tracking server of MLflow, with its credentials."""

    url: str
    outgoing: Outgoing
    authorization: str | None = field(default=None, repr=False)

    def push(self, run_id: str, push: Push) -> None:
        """Have a run say it.

        Raises:
            RunGone: there is no such run.
            OutgoingFault: no answer, or one that refuses.
        """
        run = self._get_run(run_id)
        tags = dict(push.tags)
        if push.note is not None:
            note = with_part(_tag(run, NOTE), push.record, push.note)
            if len(note) <= MOST_TAG:
                tags[NOTE] = note
        place = _artifacts_of(run)
        if place is None and push.receipt is not None and len(push.receipt) <= MOST_TAG:
            tags["forelock.receipt"] = push.receipt
        items = [{"key": key, "value": value[:MOST_TAG]} for key, value in sorted(tags.items())]
        metrics = [
            {"key": metric.key, "value": metric.value, "timestamp": metric.timestamp, "step": 0}
            for metric in push.metrics
        ]
        for name, content in push.files.items() if place is not None else ():
            self._call("PUT", f"{_FILES}{place}/{quote(name)}", content, "application/octet-stream")
        for start in range(0, len(metrics), MOST_METRICS):
            self._log(run_id, metrics=metrics[start : start + MOST_METRICS])
        for start in range(0, len(items), MOST_TAGS):  # last: who finds a verdict by its tag finds all of it
            self._log(run_id, tags=items[start : start + MOST_TAGS])

    def _get_run(self, run_id: str) -> dict[str, Any]:
        """Return a run as the server has it, and refuse one that was deleted there."""
        answer = self._call("GET", f"{_API}runs/get?run_id={quote(run_id, safe='')}", limit=LIMIT)
        try:
            run = _parse(answer)["run"]
            deleted = run["info"].get("lifecycle_stage") == "deleted"
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise Unanswered("the answer is not that of an MLflow tracking server") from None
        if deleted:
            raise RunGone("the run was deleted in MLflow")
        return dict(run)

    def _log(self, run_id: str, **content: Sequence[Mapping[str, object]]) -> None:
        body = json.dumps({"run_id": run_id, **content}, allow_nan=False).encode()
        self._call("POST", f"{_API}runs/log-batch", body, "application/json")

    def _call(
        self,
        method: str,
        path: str,
        content: bytes = b"",
        media_type: str | None = None,
        *,
        limit: int = SHORT,
    ) -> Answer:
        """Call MLflow's API; RunGone for a run that is not there, Unanswered for whatever is not 200."""
        headers = {} if media_type is None else {"Content-Type": media_type}
        if self.authorization is not None:
            headers["Authorization"] = self.authorization
        answer = self.outgoing.send(
            method, self.url.rstrip("/") + path, content=content, headers=headers, limit=limit
        )
        if answer.status == 200:
            return answer
        code = _error_code(answer)
        if code == "RESOURCE_DOES_NOT_EXIST":
            raise RunGone("MLflow has no such run")
        if answer.status in (401, 403):
            raise Unanswered(f"MLflow answers {answer.status}: it refuses the credentials, or this host name")
        raise Unanswered(f"MLflow answers {answer.status}" + (f" ({code})" if code else ""))


def with_part(text: str, record: str, part: str) -> str:
    """Return a description with our part about a record: in its place where there is one, else at the end.

    The text is a stranger's, who may have put our marks into it: it is looked through once.
    """
    opening, closing = f"<!-- forelock {record} -->", f"<!-- /forelock {record} -->"
    ours = f"{opening}\n{part}\n{closing}"
    start = 0
    while (end := text.find(closing, start)) >= 0:
        begin = text.rfind(opening, start, end)
        start = end + len(closing)
        if begin >= 0:
            return f"{text[:begin]}{ours}{text[start:]}"
    return f"{text}\n\n{ours}" if text else ours


def _parse(answer: Answer) -> Any:
    """Return the JSON of an answer.

    Raises:
        ValueError, RecursionError: it is none, or has more in it than a run can.
    """
    if answer.body.count(b"{") + answer.body.count(b"[") > MOST_CONTAINERS:
        raise ValueError
    return json.loads(answer.body)


def _tag(run: Mapping[str, Any], key: str) -> str:
    """Return a tag that the run has, or nothing."""
    data = run.get("data")
    tags = data.get("tags") if isinstance(data, dict) else None
    values = [
        tag.get("value")
        for tag in (tags if isinstance(tags, list) else ())
        if isinstance(tag, dict) and tag.get("key") == key
    ]
    return values[0] if values and isinstance(values[0], str) else ""


def _artifacts_of(run: Mapping[str, Any]) -> str | None:
    """Say where the server itself keeps the run's artifacts; None where they are elsewhere."""
    uri = run["info"].get("artifact_uri")
    if not isinstance(uri, str) or len(uri) > _LONGEST_URI or not uri.startswith(_ARTIFACTS):
        return None
    path = uri.removeprefix(_ARTIFACTS)
    if path.startswith("//"):  # the server's name
        path = path[2:].partition("/")[2]
    path = path.strip("/")
    return path if path and ".." not in path and _PATH.issuperset(path) else None


def _error_code(answer: Answer) -> str | None:
    """MLflow's own word for what went wrong, where it gives one of those that it has."""
    try:
        code = _parse(answer)["error_code"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return code if isinstance(code, str) and re.fullmatch(r"[A-Z_]{1,60}", code) else None
