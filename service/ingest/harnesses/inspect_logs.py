"""Logs of Inspect AI: `.eval` archives, chunked or not, and `.json`.

Every sample is read, since the summaries hide edits, invalidations and long metadata.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from service.errors import InvalidData
from service.ingest.harnesses import json_slices
from service.ingest.harnesses.files import Files
from service.ingest.harnesses.json_slices import Buffer
from service.ingest.harnesses.limits import unmapped, unreadable
from service.ingest.harnesses.samples import Measured, Reader, Sample

_WANTED = frozenset(
    {"id", "epoch", "scores", "metadata", "error", "limit", "invalidation", "completed_at", "target"}
)
_HEADER = frozenset({"version", "status", "eval", "invalidated", "piece"})
_CLASSIC, _CHUNKED = "samples/", "/sample.json"
_EVENTS = (("error", "error"), ("invalidation", "invalidated"), ("limit", "limit"))
NO_SAMPLES = unmapped(
    "import",
    "the log holds no samples (log_samples=False), and its reductions do not tell one epoch from another",
    "run the evaluation again with --log-samples",
)


class InspectLog(Reader):
    """One log."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._names: list[str] = []
        self._all: frozenset[str] = frozenset()
        self._document: Buffer = b""
        self._samples_at: int | None = None
        header = self._archive_header() if files.archive is not None else self._document_header()
        self.run = _mapping(header.get("eval"))
        status = header.get("status")
        self.piece = header.get("piece") is True and files.archive is None
        self.partial = None if status == "success" or self.piece else _unfinished(status)
        if self.partial is None and not self._names and self._samples_at is None and self._intended != 0:
            raise NO_SAMPLES
        found = len(self._names) if files.archive is not None else None
        if self.partial is None and found is not None and self._intended not in (None, found):
            self.partial = f"has {found} samples where it says that {self._intended} were run"

    @property
    def _intended(self) -> int | None:
        """How many samples a whole run has, in every epoch."""
        ids = _mapping((self.run or {}).get("dataset")).get("sample_ids")
        epochs = _mapping((self.run or {}).get("config")).get("epochs", 1)
        return len(ids) * epochs if isinstance(ids, list) and type(epochs) is int else None

    def samples(self) -> Iterator[Sample]:
        """Every sample."""
        for name in self._names:
            yield _sample(self._archived(name), name)
        if self._samples_at is not None:
            yield from map(
                _sample,
                json_slices.each(self._document, self._samples_at, _WANTED, "samples"),
                map("samples[{}]".format, range(1, 2**31)),
            )

    def _archive_header(self) -> Mapping[str, Any]:
        names = self._files.names
        self._all = frozenset(names)
        self._names = [
            name
            for name in names
            if name.startswith(_CLASSIC)
            and (_is_classic(name) or (name.endswith(_CHUNKED) and _is_chunk(name.removesuffix(_CHUNKED))))
        ]
        if "header.json" in names:
            return json_slices.pick(self._files.read("header.json"), _HEADER, "header.json")
        if "_journal/start.json" in names:
            start = json_slices.pick(self._files.read("_journal/start.json"), _HEADER, "_journal/start.json")
            return {**start, "status": "killed"}
        raise unreadable(
            "", "the archive is no log of Inspect: it has neither header.json nor _journal/start.json"
        )

    def _archived(self, name: str) -> Mapping[str, Any]:
        sample = json_slices.pick(self._files.read(name), _WANTED, name)
        metadata = name.removesuffix(_CHUNKED) + "/metadata.json"
        if name.endswith(_CHUNKED) and not sample.get("metadata") and metadata in self._all:
            sample["metadata"] = json_slices.loads(self._files.read(metadata), metadata)
        return sample

    def _document_header(self) -> Mapping[str, Any]:
        (name, *others) = self._files.names
        if others:
            raise InvalidData.field("", "several files make no log of Inspect", "send one log at a time")
        self._document = self._files.read(name)
        header: dict[str, Any] = {}
        for key, begin, end in json_slices.top(self._document, "the log"):
            if key in _HEADER:
                header[key] = json_slices.loads(self._document[begin:end], key)
            elif key == "samples" and self._document[begin : begin + 1] == b"[":
                self._samples_at = begin
        if "eval" not in header:
            raise unreadable("", "the file is no log of Inspect: it has no `eval`")
        return header


def _sample(found: Mapping[str, Any], where: str) -> Sample:
    scores = found.get("scores")
    measures: dict[str, Measured] = {}
    for name, score in scores.items() if isinstance(scores, dict) else ():
        if isinstance(score, dict):
            _measure(measures, name, score)
    events = tuple(event for name, event in _EVENTS if found.get(name))
    return Sample(where, found, measures, events)


def _measure(measures: dict[str, Measured], name: str, score: Mapping[str, Any]) -> None:
    """A score, and each part of one that has several."""
    value, event, original = score.get("value"), None, None
    history = score.get("history")
    if isinstance(history, list) and history and _is_edited(history):
        event = "edited"
        original = history[0].get("value") if isinstance(history[0], dict) else None
        original = value if original == "UNCHANGED" else original
    elif score.get("reason") == "no_response":
        event = "no_response"
    if isinstance(value, dict):
        before = original if isinstance(original, dict) else {}
        for key, part in value.items():
            measures[f"{name}.{key}"] = Measured(part, event or _unscored(part), before.get(key))
    else:
        measures[name] = Measured(value, event or _unscored(value), original)


def _is_edited(history: list[Any]) -> bool:
    """More than the score as it was given: an edit follows it, or stands with the name of who made it."""
    return len(history) > 1 or (isinstance(history[0], dict) and history[0].get("provenance") is not None)


def _unscored(value: Any) -> str | None:
    return "unscored" if value is None or (isinstance(value, float) and math.isnan(value)) else None


def _unfinished(status: Any) -> str:
    told = {
        "cancelled": "was cancelled",
        "error": "ended in an error",
        "killed": "was killed: it has no header.json",
        "started": "has not ended",
    }
    return told.get(status if isinstance(status, str) else "", "does not say that it ended well")


def _is_classic(name: str) -> bool:
    head, _, epoch = name.removesuffix(".json").rpartition("_epoch_")
    return name.endswith(".json") and len(head) > len(_CLASSIC) and epoch.isdecimal()


def _is_chunk(name: str) -> bool:
    head, _, epoch = name.rpartition("_epoch_")
    return len(head) > len(_CLASSIC) and epoch.isdecimal()


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
