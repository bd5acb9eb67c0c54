"""Logs of Inspect AI: `.eval` archives, chunked or not, and `.json`.

Every sample is read, since the summaries hide edits, invalidations and long metadata.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping
from types import GenericAlias
from typing import Any

from typing_extensions import override

from service.errors import InvalidData
from service.ingest.documents import json_slices
from service.ingest.documents.files import Files
from service.ingest.documents.json_values import Buffer, Members, loads
from service.ingest.documents.limits import make_unmapped, unreadable
from service.ingest.harnesses.harness import SCORED_ERROR, Harness, Row, Undecided
from service.ingest.harnesses.samples import Measured, Reader, Sample
from service.ingest.harnesses.systems import argument, config_sha256, facts

_WANTED = frozenset({"id", "epoch", "scores", "metadata", "error", "limit", "invalidation", "completed_at"})
_SCORE = Members({"value", "reason", "history"}, only=True)
_HEADER = Members({"version", "status", "eval", "invalidated", "piece"})
_LIMITS = ("limit", "message_limit", "token_limit", "time_limit", "working_limit", "cost_limit")
_CHUNKED = "/sample.json"
_NAME = re.compile(r"samples/.+_epoch_[0-9]+(\.json|/sample\.json)", re.DOTALL)
_EVENTS = (("error", "error"), ("invalidation", "invalidated"), ("limit", "limit"))
NO_SAMPLES = make_unmapped(
    "import",
    "the log holds no samples (log_samples=False), and its reductions do not tell one epoch from another",
    "run the evaluation again with --log-samples",
)


class InspectLog(Reader):
    """One log of Inspect, `.eval` or `.json`."""

    def __init__(self, files: Files, paths: Collection[str] | None) -> None:
        """`paths` are those that the mapping looks at in samples; None: they may be any."""
        self._files = files
        self._paths = paths
        self._wanted = _list_wanted(paths)
        self._names: list[str] = []
        self._all: frozenset[str] = frozenset()
        self._document: Buffer = b""
        self._samples_at: int | None = None
        self._in_order = True
        header = self._read_archive_header() if files.archive is not None else self._document_header()
        self.run = _mapping(header.get("eval"))
        status = header.get("status")
        self.piece = header.get("piece") is True and files.archive is None
        self.partial = None if status == "success" or self.piece else _describe_unfinished(status)
        if self.partial is None and not self._names and self._samples_at is None and self._intended != 0:
            raise NO_SAMPLES
        count = len(self._names) if files.archive is not None else None
        if self.partial is None and count is not None and self._intended not in (None, count):
            self.partial = f"has {count} samples where it says that {self._intended} were run"

    @override
    def about(self) -> Mapping[str, Any]:
        """Settings of the run, from the header's `eval`."""
        run = self.run or {}
        dataset, config = _mapping(run.get("dataset")), _mapping(run.get("config"))
        scorers = [_mapping(scorer) for scorer in run.get("scorers") or () if isinstance(scorer, dict)]
        return {
            "task": run.get("task"),
            "task_version": run.get("task_version"),
            "dataset": dataset.get("name") or dataset.get("location"),
            "scorer": [{"name": scorer.get("name"), "options": scorer.get("options")} for scorer in scorers],
            "judge": {
                role: _mapping(model).get("model")
                for role, model in _mapping(run.get("model_roles")).items()
                if isinstance(model, dict)
            },
            "runs": config.get("epochs"),
            "limits": {name: config[name] for name in _LIMITS if config.get(name) is not None},
            "harness_version": _mapping(run.get("packages")).get("inspect_ai"),
        }

    @override
    def system(self) -> Mapping[str, Any]:
        """The system, from the header's `eval`: model, its arguments, how answers are generated, task and packages."""
        run = self.run or {}
        generated = _mapping(run.get("model_generate_config"))
        return facts(
            model__name=run.get("model"),
            model__revision=argument(run.get("model_args"), "revision"),
            decoding__temperature=generated.get("temperature"),
            decoding__top_p=generated.get("top_p"),
            decoding__max_tokens=generated.get("max_tokens"),
            decoding__seed=generated.get("seed"),
            harness__name="inspect_ai",
            harness__version=_mapping(run.get("packages")).get("inspect_ai"),
            harness__config_sha256=config_sha256(run.get("config")),
            more__task_version=run.get("task_version"),
        )

    @override
    def read_also(self, places: Collection[str]) -> None:
        """Read these places as well: imports pass over input and target."""
        if self._paths is not None:
            self._wanted = _list_wanted([*self._paths, *places])

    @property
    def _intended(self) -> int | None:
        """How many samples a whole run has, in every epoch."""
        ids = _mapping((self.run or {}).get("dataset")).get("sample_ids")
        epochs = _mapping((self.run or {}).get("config")).get("epochs", 1)
        return len(ids) * epochs if isinstance(ids, list) and type(epochs) is int else None

    @override
    def samples(self) -> Iterator[Sample]:
        """Yield the samples of the log, each epoch one of its own."""
        of, chunked = self._wanted.of, any(name.endswith(_CHUNKED) for name in self._names)
        for name, document in zip(self._names, self._files.read_all(self._names), strict=True):
            sample = of(document) if type(document) is bytes else None
            if sample is None:
                sample = json_slices.pick(document, self._wanted, name)
            # A chunked log keeps the metadata of a sample, where it is long, in a file of its own beside it.
            if chunked and name.endswith(_CHUNKED) and not sample.get("metadata"):
                metadata = name.removesuffix(_CHUNKED) + "/metadata.json"
                if metadata in self._all:
                    sample["metadata"] = loads(self._files.read(metadata), metadata)
            yield _sample(sample, name)
        if self._samples_at is not None:
            for number, raw in enumerate(self._read_document_samples(self._samples_at), start=1):
                yield _sample(raw, f"samples[{number}]")

    def _read_archive_header(self) -> Mapping[str, Any]:
        """Read the header of an `.eval` archive, and note the names of its entries and of those that hold samples."""
        names = self._files.names
        self._all = frozenset(names)
        self._names = [name for name in names if _NAME.fullmatch(name)]
        if "header.json" in names:
            return json_slices.pick(self._files.read("header.json"), _HEADER, "header.json")
        # header.json is written when the log is closed: a run that was killed has what was known at its start alone.
        if "_journal/start.json" in names:
            start = json_slices.pick(self._files.read("_journal/start.json"), _HEADER, "_journal/start.json")
            return {**start, "status": "killed"}
        raise unreadable(
            "", "the archive is no log of Inspect: it has neither header.json nor _journal/start.json"
        )

    def _document_header(self) -> Mapping[str, Any]:
        """What stands before the samples, as Inspect writes it; a document in another order is looked through whole."""
        (name, *others) = self._files.names
        if others:
            raise InvalidData.field("", "several files make no log of Inspect", "send one log at a time")
        self._document = self._files.read(name)
        header: dict[str, Any] = {}
        for key, begin, end in json_slices.top(self._document, "the log", stop="samples"):
            # `top` stops at the samples and gives where they begin: they may be most of a gigabyte, and are read one by
            # one.
            if key == "samples" and begin == end:
                self._samples_at = begin
            elif key in _HEADER.names:
                header[key] = loads(self._document[begin:end], key)
        self._in_order = {"status", "eval"} <= header.keys()
        if not self._in_order:
            for key, begin, end in json_slices.top(self._document, "the log"):
                if key in _HEADER.names:
                    header[key] = loads(self._document[begin:end], key)
        if self._samples_at is not None and self._document[self._samples_at : self._samples_at + 1] != b"[":
            self._samples_at = None
        if "eval" not in header:
            raise unreadable("", "the file is no log of Inspect: it has no `eval`")
        return header

    def _read_document_samples(self, begin: int) -> Iterator[Mapping[str, Any]]:
        """Yield the samples of a `.json` log from `begin` on.

        The run is partial if they are fewer than it meant to run.
        """
        samples = json_slices.Array(self._document, begin, self._wanted, "samples")
        count = 0
        for sample in samples:
            count += 1
            yield sample
        if self.partial is None and not self.piece and self._intended not in (None, count):
            self.partial = f"has {count} samples where it says that {self._intended} were run"
        for key, _, _ in json_slices.rest(self._document, samples.position, "the log"):
            if self._in_order and (key in _HEADER.names or key == "samples"):
                raise unreadable("the log", f"says `{key}` once more after its samples")


def _list_wanted(paths: Collection[str] | None) -> Members:
    """Members of a sample that an import reads: what a path may begin with, keys with dots included."""
    if paths is None:
        return Members(_WANTED)
    parts = [path.removeprefix("sha256:").split(".") for path in paths]
    heads = {".".join(part[:end]) for part in parts for end in range(1, len(part) + 1)}
    inner = {} if "scores" in heads else {"scores": GenericAlias(dict, (str, _SCORE.shape))}
    return Members(_WANTED | heads, only=True, of=inner)


def _sample(sample: Mapping[str, Any], where: str) -> Sample:
    scores = sample.get("scores")
    events: tuple[str, ...] = ()
    if "error" in sample or "limit" in sample or "invalidation" in sample:
        events = tuple(event for name, event in _EVENTS if sample.get(name))
    return Sample(where, sample, _Scores(scores if isinstance(scores, dict) else {}), events)


class _Scores(Mapping[str, Measured]):
    """The scores of a sample as measures, made when they are asked for."""

    __slots__ = ("_all", "_scores")

    def __init__(self, scores: Mapping[str, Any]) -> None:
        self._scores = scores
        self._all: dict[str, Measured] | None = None

    @override
    def get(self, name: str, default: Any = None) -> Any:
        """Return a score; one that has nothing beside it is made alone."""
        score = self._scores.get(name)
        if type(score) is dict and not score.get("history") and score.get("reason") is None:
            # Exactly these types: `True` is equal to 1, and would be found in the table as such.
            value = score.get("value")
            if type(value) is str or type(value) is int:
                return _PLAIN.get(value) or Measured(value)
        return self._measures().get(name, default)

    @override
    def __getitem__(self, name: str) -> Measured:
        return self._measures()[name]

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(self._measures())

    @override
    def __len__(self) -> int:
        return len(self._measures())

    def _measures(self) -> dict[str, Measured]:
        if self._all is None:
            self._all = {}
            for name, score in self._scores.items():
                if isinstance(score, dict):
                    _measure(self._all, name, score)
        return self._all


_PLAIN: Mapping[str | int, Measured] = {value: Measured(value) for value in ("C", "I", "P", "N", 0, 1)}
"""Most samples have one of these, and nothing beside it."""


def _measure(measures: dict[str, Measured], name: str, score: Mapping[str, Any]) -> None:
    """A score, and each part of one that has several."""
    value, event, original = score.get("value"), None, None
    history = score.get("history")
    if isinstance(history, list) and history and _is_edited(history):
        event = "edited"
        original = history[0].get("value") if isinstance(history[0], dict) else None
        # An edit names what it changes; of a value that it leaves as it is it says this.
        original = value if original == "UNCHANGED" else original
    elif score.get("reason") == "no_response":
        event = "no_response"
    if isinstance(value, dict):
        before = original if isinstance(original, dict) else {}
        for key, part in value.items():
            measures[f"{name}.{key}"] = Measured(part, event or _name_unscored(part), before.get(key))
    else:
        measures[name] = Measured(value, event or _name_unscored(value), original)


def _is_edited(history: list[Any]) -> bool:
    """More than the score as it was given: an edit follows it, or stands with the name of who made it."""
    return len(history) > 1 or (isinstance(history[0], dict) and history[0].get("provenance") is not None)


def _name_unscored(value: Any) -> str | None:
    return "unscored" if value is None or (isinstance(value, float) and math.isnan(value)) else None


def _describe_unfinished(status: Any) -> str:
    reasons = {
        "cancelled": "was cancelled",
        "error": "ended in an error",
        "killed": "was killed: it has no header.json",
        "started": "has not ended",
    }
    return reasons.get(status if isinstance(status, str) else "", "does not say that it ended well")


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


HARNESS = Harness(
    formats=("inspect",),
    open=lambda files, _form, mapping: InspectLog(files, None if mapping is None else mapping.paths()),
    row=Row(
        title="Inspect",
        reads="`.eval` (Zstandard or deflate, chunked too), `.json`",
        by_itself=(
            "id, `epoch` as replicate, C 1, I 0, true, false; errors are errors, no score is missing; a "
            "log that nobody scored is refused"
        ),
        to_say=(
            "`limit`; `error` beside a score; `edited` (`original` or `edited`); `invalidated`; "
            "`no_response` (a timeout reads as I); `partial` for cancelled, failed and killed runs. Logs "
            "without samples are refused"
        ),
    ),
    undecided={
        "limit": Undecided(
            "were stopped at a limit", 'write "limit": "score", "missing" or "error"', "missing"
        ),
        "invalidated": Undecided(
            "were invalidated", 'write "invalidated": "missing", "error" or "score"', "missing"
        ),
        "edited": Undecided(
            "have a score that was edited by hand",
            'write "edited": "original", "edited", "missing" or "error"',
            "original",
        ),
        "no_response": Undecided(
            "have a score for an answer that never came",
            'write "no_response": "error", "missing" or "score"',
            "error",
        ),
        "error": SCORED_ERROR,
    },
    suffixes={".eval": "inspect"},
    content=("input", "target"),
    marks=('"eval"',),
    doubt=8,
    beside=frozenset({"turn_count"}),
)
