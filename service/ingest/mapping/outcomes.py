"""What a sample's measure counts as under the plan's mapping: a value, or a status without one."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Iterable
from typing import Any

from service.domain.plans.importing.mapping import Readable
from service.domain.plans.importing.table_import import TableImport
from service.ingest.documents.numbers import DECIMAL, describe_mending, numeric, percent
from service.ingest.harnesses.registry import harness_of
from service.ingest.harnesses.samples import Measured, Sample
from service.ingest.mapping.open_lines import OpenLines
from service.ingest.mapping.targets import Target

STATUS = {"ok": 0, "error": 1, "missing": 2}
"""Codes of `domain.results.batches.STATUSES`."""
Outcome = tuple[float, int]
"""A value, NaN unless the status is ok; and the code of the status."""


class Outcomes:
    """Reads measures as outcomes, and counts the events that decided them."""

    def __init__(self, mapping: Readable, targets: Iterable[Target], open_lines: OpenLines) -> None:
        self._mapping, self._open = mapping, open_lines
        self._undecided_events = harness_of(mapping.format).undecided
        self._numbers = {target.endpoint: numeric(target.values) for target in targets}
        self._percents: dict[str, bool] = {}
        """By endpoint whether the first number of a table has a percent sign."""
        self.events: Counter[str] = Counter()

    def of(self, sample: Sample, measured: Measured | None, target: Target) -> Outcome:
        """Return what a sample's measure counts as; what is not decided is added to the open lines."""
        event = measured.event if measured is not None else "unscored"
        # What befell the whole sample goes before its measure: the score of a run that broke off may be of half an
        # answer. Where a file has both an error and a score, and the mapping does not say which counts, it is not
        # decided here.
        for whole in sample.events:
            self.events[whole] += 1
            if whole.startswith("row_"):
                return math.nan, STATUS[whole.removeprefix("row_")]
            counted = self._mapping.counts_as(whole)
            scored = measured is not None and event != "unscored"
            scored = scored and not (
                event == "grader_failed" and measured is not None and measured.value is None
            )
            unsaid = getattr(self._mapping, whole, None) is None
            if counted is None or (unsaid and scored and whole == "error" and self._mapping.SCORED_ERRORS):
                self._note_undecided(whole, sample.where)
                return math.nan, 1
            if counted == "failure":
                return 0.0, 0
            if counted != "score" or not scored:
                return math.nan, STATUS["error" if counted == "score" else counted]
        if measured is None or event is None:
            return self._plain(measured, target, sample.where)
        self.events[event] += 1
        if event == "several":
            return self._several(measured, target, sample.where)
        if event == "rounded":
            exact = target.binary and measured.value in (0, 1)
            if not exact and getattr(self._mapping, "rounded", None) != "take":
                self._note_undecided(event, sample.where)
            return self._number(measured.value, target, sample.where)
        counted = self._mapping.counts_as(event)
        if counted is None:
            self._note_undecided(event, sample.where)
            return math.nan, 1
        if counted in STATUS:
            return math.nan, STATUS[counted]
        value = measured.original if counted == "original" else measured.value
        return self._plain(Measured(value), target, sample.where)

    def _plain(self, measured: Measured | None, target: Target, where: str) -> Outcome:
        value = measured.value if measured is not None else None
        if value is None or (isinstance(value, float) and math.isnan(value)):
            if measured is None:
                self.events["unscored"] += 1
            return math.nan, STATUS[self._mapping.counts_as("unscored") or "missing"]
        return self._number(value, target, where)

    def _several(self, measured: Measured, target: Target, where: str) -> Outcome:
        """Make one outcome of several values of a measure, as the mapping's `several` says."""
        choice = getattr(self._mapping, "several", None)
        if choice is None or not isinstance(measured.value, list) or not measured.value:
            self._note_undecided("several" if "several" in self._undecided_events else "source", where)
            return math.nan, 1
        values = measured.value
        value = {"first": values[0], "last": values[-1]}.get(choice)
        if choice == "mean":
            numbers = [value for value in values if type(value) in (int, float)]
            value = math.fsum(numbers) / len(numbers) if len(numbers) == len(values) else values
        if choice in ("any", "all"):
            if not all(isinstance(value, bool) for value in values):
                message, fix = (
                    "have several events that are not true or false",
                    'write "several": "first" or "last"',
                )
                self._open.add("import.several", message, fix, where)
            value = (any if choice == "any" else all)(value is True for value in values)
        return self._plain(Measured(value), target, where)

    def _number(self, value: Any, target: Target, where: str) -> Outcome:
        """Return a value as the number, or the status, that it counts as."""
        meaning: float | str | None
        # By the kind of the value as it was written: true is not 1 and "1" is not 1 unless the mapping says so, and
        # Python would take the first two for equal.
        if isinstance(value, str):
            meaning = target.values.get(value)
            if meaning is None and isinstance(self._mapping, TableImport):
                value = self._of_table(value, target, where)
        elif isinstance(value, bool):
            meaning = target.values.get("true" if value else "false")
        else:
            meaning = None
        if meaning is None and type(value) in (int, float):
            meaning = self._numbers[target.endpoint].get(value)
            if meaning is None:
                meaning = float(value) if abs(value) <= sys.float_info.max else None
        if meaning is None:
            self._unread(value, target, where)
            return math.nan, 1
        if isinstance(meaning, str):
            return math.nan, STATUS[meaning]
        if target.binary and meaning not in (0.0, 1.0):
            fix = f'write what it counts as in {target.line}.values, such as {{"0.5": 0}}'
            self._open.add(
                f"{target.line}.values",
                "have a value that is neither 0 nor 1, of a binary endpoint",
                fix,
                where,
            )
        return meaning, 0

    def _of_table(self, text: str, target: Target, where: str) -> float | str:
        """Return a cell as the number that is written there, with or without a percent sign, but not both in a column.

        Blanks around it are those of rows that are written `q1, base, 1`.
        """
        plain = text.strip(" ")
        share = None if DECIMAL.fullmatch(plain) else percent(text)
        if share is None and not DECIMAL.fullmatch(plain):
            return text
        number = float(plain) if share is None else share
        if number != 0:  # 0 is 0 either way
            before = self._percents.setdefault(target.endpoint, share is not None)
            if before is not (share is not None):
                message = "have a percent sign, or none, where others of the column are the other way"
                self._open.add(f"{target.line}.values", message, "write all of them one way", where)
        return number

    def _unread(self, value: Any, target: Target, where: str) -> None:
        """Note a value that the mapping cannot read as an open question, with the line that would settle it."""
        line = f"{target.line}.values"
        if isinstance(value, dict | list):
            message, fix = "have several values there", "name one of them: scorer.key; lists cannot be read"
            if isinstance(self._mapping, TableImport):
                fix = "give the one that counts a column of its own, and name that"
            line = f"{target.line}.{self._mapping.NEEDS[0] if self._mapping.NEEDS else 'metric'}"
        elif isinstance(value, str | bool):
            message = (
                f"have a {'text' if isinstance(value, str) else 'true or false'} whose value is not said"
            )
            fix = 'write what each counts as, such as {"C": 1, "I": 0, "true": 1, "false": 0}'
            if isinstance(self._mapping, TableImport) and isinstance(value, str):
                fix = describe_mending(value) or fix
        else:
            is_number = type(value) in (int, float)
            message = "have a number that is not finite" if is_number else "have a value that is no number"
            fix = "mend the file"
        self._open.add(line, message, fix, where)

    def _note_undecided(self, event: str, where: str) -> None:
        """Note that the mapping does not say what an event counts as, and where it happened."""
        undecided = self._undecided_events[event]
        self._open.add(f"import.{event}", undecided.message, undecided.fix, where)
