"""What reading a preregistration leaves open: what was assumed, what nothing in a plan holds, what is missing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field, ValidationError

from service.domain.plans.findings import Finding
from service.domain.plans.plan import Plan
from service.errors import InvalidData
from service.records import Record

Code = Literal["ASSUMED", "UNREAD", "INVALID", "INCOMPLETE"]
MAX_GAPS = 500
READ_FROM_PROSE = "read from prose; check it, or write it as a labelled line"


class Gap(Record):
    """Something to look at before the lock."""

    code: str = Field(
        description="`ASSUMED`: read from prose, check it. `UNREAD`: no part of a plan holds this line. `INVALID`, "
        "`INCOMPLETE`: left out. Other codes are lint errors, as `POST .../lint` gives them."
    )
    path: str = Field(description="Where in the draft's plan; empty for the whole plan.")
    line: int | None = Field(description="Line of the file, from 1; null where nothing stands for it.")
    message: str = Field(description="What is the matter, and the way out.")


class Entry(dict[str, Any]):
    """A part of a plan as it is read, and the lines it was read from."""

    def __init__(self, line: int, **values: Any) -> None:
        super().__init__(values)
        self.line = line
        self.lines: dict[str, int] = {}

    def put(self, name: str, value: Any, line: int) -> None:
        """Set a member, and note the line in which it stands."""
        self.lines.setdefault(name, line)
        self[name] = value

    def put_labelled(self, name: str, value: Any, line: int) -> bool:
        """Set a member by the name its label stands for: a dotted one reaches into a nested part.

        False where it is set already: it stays as it is.
        """
        outer, _, inner = name.partition(".")
        around = self.get(outer, {})
        if inner and isinstance(around, dict):
            if inner in around:
                return False
            self.put(outer, {**around, inner: value}, line)
            return True
        if outer in self:
            return False
        self.put(outer, value, line)
        return True

    def line_of(self, name: str) -> int:
        """Return the line a member was read from."""
        return self.lines.get(name, self.line)


@dataclass(frozen=True)
class _Note:
    code: Code
    section: str
    line: int
    message: str
    entry: Entry | None
    name: str


class Notes:
    """Gaps as they are found. Paths are worked out at the end, when the draft's lists stand still."""

    def __init__(self) -> None:
        self._notes: list[_Note] = []
        self.added = 0
        """How many were ever added; some of them may be forgotten by now."""

    def add(
        self, code: Code, section: str, line: int, message: str, entry: Entry | None = None, name: str = ""
    ) -> None:
        """Note a gap of a section, or of one of its entries."""
        self.added += 1
        self._notes.append(_Note(code, section, line, message, entry, name))

    def drop(self, entry: Entry) -> None:
        """Forget what was said of an entry that is no part of the draft."""
        self._notes = [note for note in self._notes if note.entry is not entry]

    def gaps(self, value: Entry) -> Iterator[Gap]:
        """Yield the gaps, by line; members of one entry that were read from one line's prose are one gap."""
        together: dict[tuple[int, int], list[_Note]] = defaultdict(list)
        for note in self._notes:
            key = (id(note.entry), note.line) if note.message == READ_FROM_PROSE else (-1, len(together))
            together[key].append(note)
        for first, *others in sorted(together.values(), key=lambda notes: notes[0].line):
            names = [note.name for note in (first, *others) if note.name]
            message = (
                f"{', '.join(names)}: {first.message}" if first.message == READ_FROM_PROSE else first.message
            )
            path = _path(value, first.section, first.entry, "" if others else first.name)
            yield Gap(code=first.code, path=path, line=first.line, message=message)


def _path(value: Entry, section: str, entry: Entry | None, name: str) -> str:
    entries = value.get(section)
    if entry is None or entry is entries or entry is value or not isinstance(entries, list):
        return ".".join(part for part in (section, name) if part)
    for index, other in enumerate(entries):
        if other is entry:
            return f"{section}[{index}]" + (f".{name}" if name else "")
    return section


def fit(value: Entry, notes: Notes) -> Plan:
    """Return the plan, without the parts that no plan can hold: each of them becomes a gap."""
    while True:
        try:
            return Plan.from_dict(value)
        except ValidationError as invalid:
            faults = invalid.errors(include_url=False, include_input=False)
        gone: set[tuple[str, int]] = set()
        before = notes.added
        for fault in sorted(faults, key=lambda fault: _sortable(fault["loc"]), reverse=True):
            where = fault["loc"][:2]
            if where not in gone and _leave_out(value, fault["loc"], str(fault["type"]), fault["msg"], notes):
                gone.add(where)  # type: ignore[arg-type]
        if notes.added == before:  # nothing went, so the next round would be this one again
            raise InvalidData("the file describes no plan that can be kept")


def _sortable(location: Sequence[int | str]) -> tuple[tuple[bool, int, str], ...]:
    return tuple(
        (isinstance(part, str), part if isinstance(part, int) else 0, str(part)) for part in location
    )


def _leave_out(value: Entry, location: Sequence[int | str], kind: str, fault: str, notes: Notes) -> bool:
    """Remove what a fault is about; true when that was a whole entry of a list."""
    section = str(location[0]) if location else ""
    entries: Any = value.get(section)
    # else JSON of a line
    ours = isinstance(entries, list) and all(isinstance(entry, Entry) for entry in entries)
    if ours and len(location) > 1:
        return _drop_from_entry(entries, section, location, kind, fault, notes)
    if ours and kind == "duplicate_id":
        _drop_repeated(entries, section, notes)
    elif section == "sesoi" and len(location) > 1 and isinstance(entries, Entry) and location[1] in entries:
        notes.add(
            "INVALID", section, entries.line_of(str(location[1])), f"{location[1]} is left out: {fault}"
        )
        del entries[str(location[1])]
    elif section in value:  # perhaps as null
        name = ".".join(str(part) for part in location)
        notes.add("INVALID", section, value.line_of(section), f"{name}: {fault}; the section is left out")
        del value[section]
    return False


def _drop_from_entry(
    entries: list[Any], section: str, location: Sequence[int | str], kind: str, fault: str, notes: Notes
) -> bool:
    """Drop what a plan cannot hold of an entry, a member or the whole; True where the whole entry went."""
    entry, name = entries[int(location[1])], ".".join(map(str, location[2:3]))
    entry_name = entry.get("id") or entry.get("name") or f"entry {int(location[1]) + 1}"
    if name in entry and name not in _NEEDED.get(section, ()):
        del entry[name]
        notes.add("INVALID", section, entry.line_of(name), f"{name} is left out: {fault}", entry, name)
        return False
    del entries[int(location[1])]
    notes.drop(entry)
    code: Code = "INCOMPLETE" if kind == "missing" else "INVALID"
    line = entry.line if kind == "missing" else entry.line_of(name)
    why = f"it has no {name}; add one" if kind == "missing" else f"{name}: {fault}"
    notes.add(code, section, line, f"'{entry_name}' is left out: {why}")
    for other in sorted({entry.line, *entry.lines.values()} - {line}):
        notes.add(code, section, other, f"'{entry_name}' is left out, and this with it")
    return True


def _drop_repeated(entries: list[Any], section: str, notes: Notes) -> None:
    """Drop the entries that have the id, and for arms the name and population, of an earlier one, and note each."""
    seen: set[object] = set()
    distinct = []
    for entry in entries:
        identity = (entry.get("id"), entry.get("name"), entry.get("population") if "name" in entry else None)
        if identity in seen:
            notes.add("INVALID", section, entry.line, "is named a second time, and left out")
        else:
            distinct.append(entry)
        seen.add(identity)
    entries[:] = distinct


_NEEDED = {
    "authors": ("name",),
    "populations": ("id", "dataset", "n"),
    "suites": ("id", "populations"),
    "hypotheses": ("id", "claim", "statement", "population", "baseline", "candidate", "endpoint", "rule"),
    "endpoints": ("id", "kind", "role"),
    "tests": ("id", "test", "version"),
    "thresholds": ("name", "value", "chosen_by"),
}


def of_lint(findings: Sequence[Finding], value: Entry) -> Iterator[Gap]:
    """Lint errors as gaps, with the line of the nearest part that was read."""
    for finding in findings:
        if finding.severity == "error":
            yield Gap(
                code=finding.code,
                path=finding.path,
                line=line_of(value, finding.path),
                message=finding.message,
            )


def line_of(value: Entry, path: str) -> int | None:
    """Return the line that holds a path of the plan, or the part around it; None when nothing stands for it."""
    section, _, rest = path.partition("[")
    section, _, member = section.partition(".")
    if section not in value:
        return None
    entries = value[section]
    if rest and isinstance(entries, list):
        number, _, name = rest.partition("]")
        entry = entries[int(number)]
        if not isinstance(entry, Entry):
            return value.line_of(section)
        return int(entry.line_of(name.lstrip(".").split(".")[0].split("[")[0]))
    if isinstance(entries, Entry):
        return entries.line_of(member)
    return value.line_of(section)
