"""What a bundle says of its record, member by member, each compared with the ledger's entry of it."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from forelock.bundles import canonical
from forelock.bundles.container import Reader
from forelock.bundles.coverage import Coverage
from forelock.bundles.faults import Broken
from forelock.bundles.manifests import count_items
from forelock.bundles.receipts import BATCH_KINDS, RECEIPT, Entry
from forelock.bundles.rows import Batch, Batches
from forelock.text import EXIT_CODES

FORMAT = "forelock-bundle/1"
INDEX = "bundle.json"
CHECKPOINT = "checkpoint"
VERDICT = "verdict.json"
DOCUMENTS = ("VERIFY.md", "documents/PREREG.md", "documents/DEVIATIONS.md", "documents/EVIDENCE.md")
"""Made from the other members for people. They prove nothing, and no outcome is read from them."""
MAX_INDEX = 1 << 24
MAX_PLAN = 1 << 23
"""Of a plan, a deviation or a decision: a service takes a plan of a megabyte."""
MAX_VERDICT = 1 << 24
MAX_MANIFESTS = 1 << 28
"""Of all lists of items together."""
MAX_KEPT = 1 << 27
"""What the entries of a record may take in memory, those of batches aside: an estimate, from above."""
MAX_VOIDS, MAX_REASON = 100_000, 1_000
COPIED = ("claim", "statement", "population", "baseline", "candidate", "endpoint")
"""Of a hypothesis, what its verdict repeats word for word."""
_OTHERS = re.compile(
    r"plans/[1-9][0-9]{0,5}\.json|manifests/[0-9]{1,4}\.json|deviations/[1-9][0-9]{0,5}(-decision-[1-9][0-9]{0,5})?\.json"
    r"|checkpoints/[0-9]{1,19}\.(note|consistency|tsr|ots)|rows\.bin|batches\.jsonl|verdict\.json|checkpoint"
)


@dataclass(frozen=True, slots=True)
class Index:
    """What the bundle says of itself."""

    preregistration_id: str
    keys: tuple[str, ...]
    """Of the log, oldest first."""
    files: Mapping[str, str]


def read_index(reader: Reader) -> Index:
    """Return the index; it names every other member.

    Raises:
        Broken: it is another format, or names other members than there are.
    """
    index = canonical.read(reader.read(INDEX, MAX_INDEX), INDEX)
    if not isinstance(index, dict) or index.get("format") != FORMAT:
        raise Broken(f"{INDEX} is of a format that this program does not know")
    name, keys, files = (index.get(member) for member in ("preregistration_id", "keys", "files"))
    known = set(index) == {"format", "preregistration_id", "keys", "files"}
    if (
        not known
        or not isinstance(name, str)
        or not isinstance(keys, list)
        or not _texts(keys)
        or not isinstance(files, dict)
        or not _texts(list(files.values()))
    ):
        raise Broken(f"{INDEX} is not the index of a bundle")
    if set(files) != set(reader.members) - {INDEX}:
        raise Broken(f"{INDEX} names other files than the bundle holds")
    for file in files:
        if file not in DOCUMENTS and not RECEIPT.fullmatch(file) and not _OTHERS.fullmatch(file):
            raise Broken(f"the bundle holds {file}, which no bundle has")
    return Index(name, tuple(keys), files)


def find_damaged(reader: Reader, index: Index) -> str | None:
    """Return the first file that is not the one the index names, if there is one."""
    return next((name for name, hashed in index.files.items() if reader.sha256(name) != hashed), None)


@dataclass(slots=True)
class Record:
    """The entries of one record, sorted by what they are of."""

    preregistration_id: str
    locks: list[Entry] = field(default_factory=list)
    deviations: list[Entry] = field(default_factory=list)
    looks: list[Entry] = field(default_factory=list)
    named: list[Entry] = field(default_factory=list)
    """Of arms that the plan leaves open."""
    published: list[Entry] = field(default_factory=list)
    """Of the end of an embargo."""
    verdicts: list[Entry] = field(default_factory=list)
    others: list[Entry] = field(default_factory=list)
    handovers: list[Entry] = field(default_factory=list)
    batches: Batches = field(default_factory=Batches)
    """With the index of each entry."""
    voids: dict[int, str] = field(default_factory=dict)
    other_systems: dict[int, str] = field(default_factory=dict)
    other_contents: list[int] = field(default_factory=list)
    """Arms of the batches whose files said another system than the arm's card."""
    last_batch: int = -1
    """Index of the last entry of a batch or a void."""
    kept: int = 0
    """Bytes that the entries take, about."""

    def take(self, entry: Entry) -> None:
        """Put an entry where it belongs.

        Raises:
            Broken: it is of another record.
        """
        if entry.kind in ("key_rotation", "resumption"):
            self._keep(entry, self.handovers)
            return
        if entry.body.get("preregistration_id") != self.preregistration_id:
            raise Broken(f"entry {entry.index} of the log is of another record")
        if entry.kind in BATCH_KINDS:
            self._take_batch(entry)
            return
        places = {
            "plan_locked": self.locks,
            "plan_amended": self.locks,
            "deviation": self.deviations,
            "look": self.looks,
            "reading": self.looks,
            "arm_named": self.named,
            "published": self.published,
            "verdict": self.verdicts,
        }
        # Of other kinds it is shown that there is such an entry, and nothing else.
        if entry.kind not in places and entry.kind != "close":
            entry = Entry(entry.index, entry.kind, {}, 1)
        self._keep(entry, places.get(entry.kind, self.others))

    def _keep(self, entry: Entry, place: list[Entry]) -> None:
        self.kept += entry.weight
        if self.kept > MAX_KEPT:
            raise Broken("the record has more and longer entries than a bundle can show")
        place.append(entry)

    def _take_batch(self, entry: Entry) -> None:
        """Keep the entry of a batch, which have to come in without a gap, or of a batch that was struck."""
        where = f"entry {entry.index} of the log"
        self.last_batch = max(self.last_batch, entry.index)
        if entry.kind == "batch":
            batch = Batch.of(entry.body, where)
            if batch.sequence != len(self.batches) + 1:
                raise Broken(
                    f"{where} is of batch {batch.sequence}, and batch {len(self.batches) + 1} comes next"
                )
            self.batches.append(entry.index, batch)
            if entry.body.get("card_differs"):
                self.other_systems[batch.sequence] = batch.arm
                self.kept += len(batch.arm) + 200
            if entry.body.get("content_differs"):
                self.other_contents.append(batch.sequence)
                self.kept += 200
            return
        number, reason = entry.body.get("batch"), entry.body.get("reason")
        if type(number) is not int or not 0 < number <= len(self.batches) or number in self.voids:
            raise Broken(f"{where} strikes a batch that is not there, or twice")
        if len(self.voids) == MAX_VOIDS:
            raise Broken(f"more than {MAX_VOIDS} batches were struck")
        self.voids[number] = str(reason)[:MAX_REASON]

    def stops(self) -> list[Entry]:
        """Looks that ended the collection before every planned result was in."""
        return [look for look in self.looks if look.body.get("decision") == "stop"]

    def of_kind(self, kind: str) -> list[Entry]:
        """Entries that have no place of their own, by kind."""
        return [other for other in self.others if other.kind == kind]


def read_plan(reader: Reader, record: Record) -> tuple[dict[str, Any], str]:
    """Return the plan in force and its hash, after comparing every version with its entry.

    Raises:
        Broken: a plan is absent, or is not what was locked.
    """
    plan: Any = None
    sha256 = ""
    for version, entry in enumerate(record.locks, 1):
        name = f"plans/{version}.json"
        text = reader.read(name, MAX_PLAN)
        sha256 = hashlib.sha256(text).hexdigest()
        kind = "plan_locked" if version == 1 else "plan_amended"
        if (entry.kind, entry.body.get("version"), entry.body.get("plan_sha256")) != (kind, version, sha256):
            raise Broken(f"{name} is not the plan that entry {entry.index} of the log has the hash of")
        plan = canonical.read(text, name)
    if not isinstance(plan, dict):
        raise Broken("the bundle holds no entry of a lock")
    if f"plans/{len(record.locks) + 1}.json" in reader.members:
        raise Broken("the bundle holds a plan without an entry of the log")
    return plan, sha256


def read_manifests(reader: Reader, plan: dict[str, Any]) -> Iterator[tuple[str, int]]:
    """Yield every population of the plan with the number of its items, after comparing its manifest with the plan.

    Raises:
        Broken: a manifest is not the one that the plan is locked to.
    """
    populations = plan.get("populations")
    left = MAX_MANIFESTS
    for place, population in enumerate(populations if isinstance(populations, list) else []):
        name = f"manifests/{place}.json"
        stated = population if isinstance(population, dict) else {}
        left -= reader.size(name)
        if left < 0:
            raise Broken(f"the lists of items have more than {MAX_MANIFESTS} bytes together")
        if reader.sha256(name) != stated.get("items_sha256"):
            raise Broken(f"{name} is not the list of items that the plan is locked to")
        n = count_items(reader, name)
        if n != stated.get("n"):
            raise Broken(f"{name} has another number of items than the plan")
        yield str(stated.get("id")), n


def read_deviations(reader: Reader, record: Record) -> int:
    """Return how many deviations there are, after comparing them and the decisions about them with their entries.

    Raises:
        Broken: one is absent, has no entry, or is not what was filed.
    """
    members: set[str] = set()
    filed = 0
    decided: Counter[int] = Counter()
    for entry in record.deviations:
        number, decision = entry.body.get("deviation"), entry.body.get("decision")
        if decision is None:
            filed += 1
            name, in_turn = f"deviations/{filed}.json", number == filed
            wanted = entry.body.get("deviation_sha256")
        else:
            about = number if isinstance(number, int) else 0
            decided[about] += 1
            name = f"deviations/{about}-decision-{decided[about]}.json"
            in_turn, wanted = decision == decided[about], entry.body.get("decision_sha256")
            if not 0 < about <= filed:
                raise Broken(
                    f"entry {entry.index} of the log decides about a deviation that was not filed before"
                )
        if not in_turn or reader.sha256(name) != wanted:
            raise Broken(f"{name} is not what entry {entry.index} of the log has the hash of")
        canonical.read(reader.read(name, MAX_PLAN), name)
        members.add(name)
    if {member for member in reader.members if member.startswith("deviations/")} != members:
        raise Broken("the bundle holds a deviation or a decision without an entry of the log")
    return filed


def read_verdict(
    reader: Reader, record: Record, plan: dict[str, Any], plan_sha256: str
) -> dict[str, Any] | None:
    """Return the verdict, after comparing it with its entry; None where there is none.

    Raises:
        Broken: it is absent, has no entry, is not what was judged, or is of another plan or other hypotheses.
    """
    if not record.verdicts:
        if VERDICT in reader.members:
            raise Broken(f"{VERDICT} has no entry in the log")
        return None
    if len(record.verdicts) > 1:
        raise Broken("the log has two verdicts of this record")
    entry = record.verdicts[0]
    text = reader.read(VERDICT, MAX_VERDICT)
    if hashlib.sha256(text).hexdigest() != entry.body.get("verdict_sha256"):
        raise Broken(f"{VERDICT} is not the verdict that entry {entry.index} of the log has the hash of")
    verdict = canonical.read(text, VERDICT)
    if not isinstance(verdict, dict):
        raise Broken(f"{VERDICT} is not a verdict")
    outcomes = [hypothesis.get("outcome") for hypothesis in _objects(verdict.get("hypotheses"))]
    if not outcomes or not all(isinstance(outcome, str) and outcome in EXIT_CODES for outcome in outcomes):
        raise Broken(f"{VERDICT} has no hypothesis, or one without a known outcome")
    if _hypothesis_ids(verdict) != _hypothesis_ids(plan):
        raise Broken(f"{VERDICT} judges other hypotheses than the plan has")
    if not plan_sha256 == entry.body.get("plan_sha256") == verdict.get("plan_sha256"):
        raise Broken(f"{VERDICT} is of another plan")
    if verdict.get("preregistration_id") != record.preregistration_id:
        raise Broken(f"{VERDICT} is of another record")
    struck = [
        (batch.get("batch"), str(batch.get("reason"))[:MAX_REASON])
        for batch in _objects(verdict.get("voided_batches"))
    ]
    if struck != sorted(record.voids.items()):
        raise Broken(f"{VERDICT} names other struck batches than the log, or other reasons")
    _check_copies(plan, verdict)
    return verdict


def _check_copies(plan: dict[str, Any], verdict: dict[str, Any]) -> None:
    """What a verdict copies from the plan for its readers is what the plan says."""
    if "title" in verdict and verdict["title"] != plan.get("title"):
        raise Broken(f"{VERDICT} has another title than the plan")
    planned = {str(hypothesis.get("id")): hypothesis for hypothesis in _objects(plan.get("hypotheses"))}
    for hypothesis in _objects(verdict.get("hypotheses")):
        locked = planned.get(str(hypothesis.get("id")), {})
        for name in COPIED:
            if name in hypothesis and hypothesis[name] != locked.get(name):
                raise Broken(f"{VERDICT} has another {name} of a hypothesis than the plan")


def check_marks(record: Record, plan: dict[str, Any], verdict: dict[str, Any]) -> None:
    """Compare what the verdict says of an early end, an early look and other systems with the entries of them.

    Raises:
        Broken: the collection was closed, outcomes were opened or results are of another system than the plan
            describes, and the verdict does not say so as it was.
    """
    _check_close(record, verdict)
    _check_unblinding(record, verdict)
    _check_systems(record, plan, verdict)
    _check_contents(record, verdict)


def check_end(record: Record, coverage: Coverage) -> None:
    """Compare the results that are there with the entry that ended the collection; without one they are all there.

    Raises:
        Broken: results lack that the entry counted, or came in after it.
    """
    closings, stops = record.of_kind("close"), record.stops()
    counted = f"{coverage.received} of {coverage.expected} planned results are there"
    if coverage.received != coverage.expected and not closings and not stops:
        raise Broken(f"{counted}, and no entry ended it early")
    if any(record.last_batch > closing.index for closing in (*closings, *stops)):
        raise Broken("results came in, or were struck, after an entry that ended the collection")
    for close in closings:
        if [close.body.get(name) for name in ("received", "expected")] != [
            coverage.received,
            coverage.expected,
        ]:
            raise Broken(
                f"{counted}, and entry {close.index} closed the collection with {_count(close, 'received')} of "
                f"{_count(close, 'expected')}"
            )
    for stop in stops:
        units = stop.body.get("units")
        for population, least in (units if isinstance(units, dict) else {}).items():
            # a unit is an item or a cluster of items, so there are as many items at least
            there = coverage.least(population)
            if type(least) is int and there < least:
                raise Broken(
                    f"{counted}, and entry {stop.index} ended the collection on {least} units of '{population}', of "
                    f"which an arm has {there} items here"
                )


def _count(entry: Entry, name: str) -> str:
    count = entry.body.get(name)
    return str(count) if type(count) is int else "no count"


def _check_unblinding(record: Record, verdict: dict[str, Any]) -> None:
    """Outcomes that were opened early are marked; results after that make the verdict invalid."""
    openings = [
        opening.index for opening in record.of_kind("unblinding") if opening.index < record.verdicts[0].index
    ]
    marks = [stated for stated in _objects(verdict.get("marks")) if stated.get("code") == "unblinded"]
    if not openings and not marks:
        return
    late = [
        batch.sequence
        for index, batch in record.batches
        if openings and index > openings[0] and batch.sequence not in record.voids
    ]
    ended = any(openings and close.index > openings[0] for close in record.of_kind("close"))
    wanted = [("invalid" if late or ended else "flag", late)] if openings else []
    if [(mark.get("effect"), mark.get("batches")) for mark in marks] != wanted:
        raise Broken(f"{VERDICT} says something else of an early look at outcomes than the log")
    outcomes = {hypothesis["outcome"] for hypothesis in verdict["hypotheses"]}
    if (late or ended) and outcomes != {"invalid"}:
        raise Broken(
            f"{VERDICT} is not invalid, and results came in, or the collection ended, after outcomes had been opened"
        )


def _check_systems(record: Record, plan: dict[str, Any], verdict: dict[str, Any]) -> None:
    """Every batch of another system is marked as the arm's card says; marks may name more, by what runs said."""
    effects = {entry.get("id"): entry.get("on_difference") for entry in _objects(plan.get("arms"))}
    marks = [entry for entry in _objects(verdict.get("marks")) if entry.get("code") == "arm_differs"]
    marked = {
        (mark.get("effect"), number)
        for mark in marks
        for number in (mark["batches"] if isinstance(mark.get("batches"), list) else ())
        if type(number) is int
    }
    for number, arm in record.other_systems.items():
        if number not in record.voids and arm in effects and (effects[arm], number) not in marked:
            raise Broken(
                f"{VERDICT} says nothing of batch {number}, which came from another system than the plan describes"
            )


def _check_contents(record: Record, verdict: dict[str, Any]) -> None:
    """Every batch with items of other content than the locked list names is told."""
    marked = {
        number
        for mark in _objects(verdict.get("marks"))
        if (mark.get("code"), mark.get("effect")) == ("content_differs", "flag")
        for number in (mark["batches"] if isinstance(mark.get("batches"), list) else ())
        if type(number) is int
    }
    for number in record.other_contents:
        if number not in record.voids and number not in marked:
            raise Broken(
                f"{VERDICT} says nothing of batch {number}, whose items have other content than the locked list names"
            )


def _check_close(record: Record, verdict: dict[str, Any]) -> None:
    """The marks of an early close have the numbers of its entries, in their order."""
    closings = [close.body for close in record.of_kind("close")]
    marks = [stated for stated in _objects(verdict.get("marks")) if stated.get("code") == "closed_early"]
    numbers = [re.findall(r"\d+", str(mark.get("says"))) for mark in marks]  # its words may be others one day
    wanted = [
        [str(closing.get(name)) for name in ("received", "expected", "deviation")] for closing in closings
    ]
    if numbers != wanted:
        raise Broken(f"{VERDICT} says something else of an early close than the log")


def _objects(values: Any) -> list[dict[str, Any]]:
    """Return the objects of a list; none where it holds anything else."""
    whole = isinstance(values, list) and all(isinstance(value, dict) for value in values)
    return list(values) if whole else []


def _hypothesis_ids(text: dict[str, Any]) -> list[Any]:
    """Return the ids of the hypotheses of a plan or a verdict, in a common order."""
    return sorted(repr(hypothesis.get("id")) for hypothesis in _objects(text.get("hypotheses")))


def _texts(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)
