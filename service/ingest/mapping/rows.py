"""Samples become rows under the plan's mapping: what it leaves open is refused, by the line that would decide it."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from service.domain.faults import SHOWN
from service.domain.plans.importing.mapping import Readable
from service.domain.results.secret_rows import NO_TIME
from service.errors import InvalidData, TooLarge
from service.ingest.columns import MAX_REPLICATE, MAX_TEXT, microseconds, text_fault
from service.ingest.documents.limits import make_unmapped, printable
from service.ingest.harnesses.samples import Reader, Sample, bound_samples, finder, id_finder
from service.ingest.harnesses.systems import Compared
from service.ingest.mapping.imported_rows import Imported, Rows
from service.ingest.mapping.open_lines import OpenLines
from service.ingest.mapping.outcomes import STATUS, Outcomes
from service.ingest.mapping.targets import Target

if TYPE_CHECKING:
    from service.domain.plans.sections.arms import ArmCard


class Collector:
    """Takes samples; refuses at the end what the mapping leaves open, counted by the line to write."""

    def __init__(
        self,
        mapping: Readable,
        targets: Iterable[Target],
        *,
        arm: str | None = None,
        arms: Collection[str] | None = None,
        max_rows: int = 10_000_000,
        content: Callable[[Mapping[str, Any]], tuple[str | None, str | None]] | None = None,
        cards: Mapping[str, ArmCard] | None = None,
    ) -> None:
        """`content` tells a sample's content, where that is asked; `cards` are the plan's, to compare the file with."""
        self._compared = Compared(cards or {})
        self._content = content
        self._mapping, self._targets = mapping, tuple(targets)
        self._open = OpenLines()
        self._outcomes = Outcomes(mapping, self._targets, self._open)
        self._arm, self._arms, self._max_rows = arm, arms, max_rows
        self._item_path, self._cluster_path = mapping.place("item_id") or "", mapping.place("cluster")
        path = mapping.place("replicate")
        self._replicate_path, self._by_order = (None, True) if path == "order" else (path, False)
        self._find_id, self._find_cluster = id_finder(self._item_path), finder(self._cluster_path or "")
        self._find_replicate = finder(self._replicate_path or "")
        self._find_arm, self._arm_by_text = finder(mapping.arm or ""), dict[str, str | None]()
        self._find_time = None if mapping.observed_at is None else finder(mapping.observed_at)
        self._rows: dict[tuple[str, str], Rows] = {}
        self._seen, self._others = set[str](), set[str]()
        self._unscored = 0
        """Samples without the measure, and without anything that would tell why."""
        self._n = 0
        self._prompts: set[Any] = set()
        self._has_splits = "split" in type(mapping).model_fields
        self._clusters: set[str] = set()
        """Those that are known to be fine."""
        self._piece = False
        """Whether other pieces of the run follow, so that nobody knows yet from where it counts its repeats."""

    def read(self, reader: Reader) -> Imported:
        """Return every sample of a file, as rows.

        Raises:
            InvalidData: `import_unmapped` where the plan's mapping has to say more, `invalid_data` where it
                is not what the file has. Names lines of the mapping and places in the file, never a value.
        """
        self._require_whole(reader)
        if reader.piece and self._by_order:
            raise make_unmapped(
                "import.replicate",
                "a piece of a run does not tell in which order its samples stand",
                "import the finished log: forelock import",
            )
        self._piece = reader.piece
        run_arm = self._arm_of(reader.run, "the file") if reader.run is not None else None
        for sample in bound_samples(reader.samples()):
            self._take(
                sample,
                run_arm if reader.run is not None else self._arm_of(sample.fields, sample.where),
                reader,
            )
        self._require_whole(reader)
        self._require_results(reader)
        if reader.run is None and self._mapping.arm is None and len(self._prompts) > 1:
            self._open.add(
                "import.arm", "are of several prompts or providers", 'write "arm": "provider.label"', ""
            )
        self._open.refuse()
        self._count_from_one()
        for rows in self._rows.values():
            self._number_replicates(rows, reader.repeats)
            self._note_repeated(rows)
        self._open.refuse()
        codes = b"".join(bytes(rows.statuses) for rows in self._rows.values())
        statuses = {name: codes.count(code) for name, code in STATUS.items()}
        differing = self._compared.differing(reader, [arm for arm, _ in self._rows])
        return Imported(tuple(self._rows.values()), dict(self._outcomes.events), statuses, differing)

    def _require_whole(self, reader: Reader) -> None:
        """Asked before reading, and again after it: some tell only then."""
        if reader.partial is not None and getattr(self._mapping, "partial", None) != "take":
            raise make_unmapped(
                "import.partial", f"the run {reader.partial}", 'finish the run, or plan it: "partial": "take"'
            )

    def _take(self, sample: Sample, arm: str | None, reader: Reader) -> None:
        """Take the rows of one sample, one per target of the mapping, and note what leaves a question open."""
        if reader.run is None and "promptIdx" in sample.fields:
            prompt = sample.fields["promptIdx"]
            self._prompts.add(prompt if isinstance(prompt, int) else str(prompt))
        if arm is None or (self._has_splits and not self._in_split(sample)):
            return
        self._compared.see_sample(reader, arm, sample)
        item_id = self._read_id(sample)
        cluster, replicate = self._cluster(sample), self._replicate(sample)
        content = None if self._content is None else self._content(sample.fields)
        moment = None if self._find_time is None else self._time(self._find_time(sample.fields), sample.where)
        for target in self._targets:
            measured = sample.measures.get(target.key)
            if measured is not None:
                self._seen.add(target.key)
            elif reader.several:
                self._others.update(sample.measures)
                continue
            elif not sample.events:
                self._unscored += 1
                self._others.update(list(sample.measures)[: SHOWN + 1])
            outcome = self._outcomes.of(sample, measured, target)
            rows = self._rows.get((arm, target.endpoint))
            if rows is None:
                rows = self._rows[arm, target.endpoint] = Rows(arm, target.endpoint, place=sample.place)
            rows.place = min(rows.place, sample.place)
            self._n += 1
            if self._n > self._max_rows:
                raise TooLarge(f"an import holds at most {self._max_rows} rows", code="too_many_items")
            rows.item_ids.append(item_id)
            rows.clusters.append(cluster)
            rows.replicates.append(replicate)
            rows.values.append(outcome[0])
            rows.statuses.append(outcome[1])
            rows.where.append(sample.where)
            rows.orders.append(sample.order)
            if content is not None:
                rows.contents.append(content)
            if moment is not None:
                rows.times.append(moment)

    # What a sample is of

    def _arm_of(self, fields: Mapping[str, Any], where: str) -> str | None:
        """Return the plan's arm; None where it is another than the one that is imported."""
        mapping, wanted = self._mapping, self._arm
        if mapping.arm is None:
            if wanted is None:
                raise make_unmapped(
                    "import.arm",
                    "nobody says which arm this is",
                    "import with arm=…, or write where the file says it",
                )
            return wanted
        # Most samples name an arm that was met before: what it is was worked out then.
        value = self._find_arm(fields)
        if type(value) is str and value in self._arm_by_text:
            return self._arm_by_text[value]
        names = mapping.arms or {}
        candidates = value if isinstance(value, list) else [value]
        texts = [
            str(candidate)
            for candidate in candidates
            if isinstance(candidate, str | int) and not isinstance(candidate, bool)
        ]
        known = [
            names.get(text, text)
            for text in texts
            if text in names or self._arms is None or text in self._arms
        ]
        if len(set(known)) == 1:
            # A file that is all of another arm was sent by mistake; a sample of another arm is merely not wanted.
            if wanted is not None and known[0] != wanted and where == "the file":
                raise InvalidData.field(
                    "query.arm", "is not the arm that the file says it is", "import it as the arm that it is"
                )
            arm = known[0] if wanted in (None, known[0]) else None
            if type(value) is str and where != "the file" and len(self._arm_by_text) < 10_000:
                self._arm_by_text[value] = arm
            return arm
        if wanted is not None and where != "the file" and texts:
            return None
        if len(set(known)) > 1:
            message, fix = "stands for several arms", "write a place that tells one"
        elif not texts:
            message, fix = f"is not found in {where}", 'write where the file says it, such as "task_args.arm"'
        else:
            message, fix = (
                f"is none of the plan's in {where}",
                'write the plan\'s name of each: {"name": "arm"}',
            )
        raise make_unmapped("import.arms" if texts else "import.arm", message, fix)

    def _in_split(self, sample: Sample) -> bool:
        wanted, split = getattr(self._mapping, "split", None), sample.fields.get("split")
        self._prompts.add(split)
        if wanted is None and len(self._prompts) > 1:
            raise make_unmapped(
                "import.split", "the run has several splits", 'write which one, such as "split": "test"'
            )
        return wanted is None or split == wanted

    def _read_id(self, sample: Sample) -> str:
        """Read the item's id, in NFC; what is no usable id is noted as an open question."""
        value = self._find_id(sample.fields)
        # ASCII is in normal form as it is, and nearly all ids are
        if type(value) is str and value.isascii() and 0 < len(value) <= MAX_TEXT and "\0" not in value:
            return value
        if type(value) is int:
            if self._mapping.INTEGER_IDS or getattr(self._mapping, "integer_ids", None) == "text":
                value = str(value) if abs(value) < 10**18 else None
            else:
                self._open.add(
                    "import.integer_ids", "have a number for an id", '"integer_ids": "text"', sample.where
                )
                return ""
        normal = unicodedata.normalize("NFC", value) if isinstance(value, str) else None
        if fault := text_fault(normal):
            fix = "write where the id stands, such as metadata.item_id"
            self._open.add(
                "import.item_id",
                f"have an id that {fault}" if value is not None else "have no id there",
                fix,
                sample.where,
            )
        return normal or ""

    def _cluster(self, sample: Sample) -> str | None:
        """Read the item's cluster, in NFC; a missing one is noted as an open question."""
        if self._cluster_path is None:
            return None
        value = self._find_cluster(sample.fields)
        if type(value) is str and value in self._clusters:
            return value
        if type(value) is int:
            value = str(value)
        normal = unicodedata.normalize("NFC", value) if isinstance(value, str) else None
        if text_fault(normal):
            fix = "write where the cluster stands, such as metadata.topic"
            self._open.add("import.cluster", "have no cluster there", fix, sample.where)
        elif normal == value and len(self._clusters) < 10_000:
            self._clusters.add(normal or "")
        return normal

    def _replicate(self, sample: Sample) -> int:
        """Read the replicate's number, 1 where none is mapped; what is no number is noted as an open question."""
        if self._replicate_path is None:
            return 1
        value = self._find_replicate(sample.fields)
        if value == 1 and type(value) is int:
            return 1
        if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 9:
            value = int(value)
        if type(value) is int and (1 <= value <= MAX_REPLICATE or (value == 0 and not self._piece)):
            return value
        self._open.add(
            "import.replicate", "have no number from 1 there", "write where it stands", sample.where
        )
        return 1

    def _time(self, value: Any, where: str) -> int:
        if value is None or value == "":
            return NO_TIME
        moment = microseconds(value)
        if moment is None:
            fix = "write where the time stands, or leave `observed_at` out"
            self._open.add("import.observed_at", "have no RFC 3339 time with its offset there", fix, where)
        return moment or 0

    # What is said of the whole

    def _require_results(self, reader: Reader) -> None:
        """Refuse a measure that no sample has although some have others."""
        for target in self._targets:
            if target.key not in self._seen and self._unscored and not self._others and not reader.piece:
                raise make_unmapped(
                    f"{target.line}.{(self._mapping.NEEDS or ('metric',))[0]}",
                    "no sample of the file has any score",
                    "score the run before it is imported",
                )
            if target.key not in self._seen and self._others:
                names = ", ".join(f"'{printable(other)}'" for other in sorted(self._others)[:SHOWN])
                name = (
                    "filter"
                    if reader.several and "," in target.key
                    else (self._mapping.NEEDS or ("metric",))[0]
                )
                raise make_unmapped(
                    f"{target.line}.{name}",
                    f"the file has no '{target.key}'"
                    if target.key
                    else "it is not said which measure is meant",
                    f"the file has {names}; write one of them",
                )
        if self._n == 0 and self._arm is not None and self._mapping.arm is not None and reader.run is None:
            raise make_unmapped(
                "import.arms", "no sample of the file is of this arm", 'write {"name in the file": "arm"}'
            )

    def _count_from_one(self) -> None:
        """Add one to every repeat of a file that counts them from 0, as loops do.

        All arms of the file move together: a repeat that one of them lacks stays lacking.
        """
        if any(0 in rows.replicates for rows in self._rows.values()):
            for rows in self._rows.values():
                if MAX_REPLICATE in rows.replicates:
                    raise make_unmapped(
                        "import.replicate", f"counts from 0 to {MAX_REPLICATE}", "number fewer runs"
                    )
                rows.replicates = [replicate + 1 for replicate in rows.replicates]

    def _number_replicates(self, rows: Rows, repeats: int | None) -> None:
        """Count the rows of one item as they follow each other, where the plan or the file says that they repeat."""
        if self._replicate_path is not None or not (self._by_order or (repeats or 1) > 1):
            return
        counted: Counter[str] = Counter()
        for index in sorted(range(len(rows.item_ids)), key=rows.orders.__getitem__):
            item_id = rows.item_ids[index]
            counted[item_id] += 1
            rows.replicates[index] = counted[item_id]
            if not self._by_order and counted[item_id] > (repeats or 1):
                fix = 'write what tells them apart, such as "item_id": "testCase.metadata.item_id"'
                self._open.add("import.item_id", "have the id of others", fix, rows.where[index])

    def _note_repeated(self, rows: Rows) -> None:
        """Note every row that has the item id and replicate of an earlier one."""
        places = Counter(zip(rows.item_ids, rows.replicates, strict=True))
        if len(places) == len(rows.item_ids):
            return
        seen = set()
        for item_id, replicate, where in zip(rows.item_ids, rows.replicates, rows.where, strict=True):
            if (item_id, replicate) in seen:
                fix = 'write what tells items apart, or "replicate": "order" where they repeat'
                self._open.add("import.item_id", "have the id and replicate of another", fix, where)
            seen.add((item_id, replicate))
