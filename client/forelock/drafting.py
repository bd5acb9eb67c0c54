"""A whole plan from two result files of earlier runs: items, clusters, endpoint, mapping, and pilot data for power."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from forelock.columns import TABLES
from forelock.item_contents import pin_contents
from forelock.problem import FileFault
from forelock.questions.tables.choices import Choices, Opened, Piece
from forelock.questions.tables.reading import read_for
from forelock.questions.tables.systems import take_two
from forelock.questions.tables.table import Reading, System
from forelock.questions.tables.ways import PAIR
from forelock.wizard import Answers, plan_of

if TYPE_CHECKING:
    from forelock.client import Client

Json = dict[str, Any]
_TOKEN = re.compile(r"[A-Za-z0-9_.\-]{1,64}")
_TEXTS = ("name", "revision", "seed", "version")
"""Fields of an arm's card that are texts though a file may have a number there."""
_OF_THE_PILOT = ("harness.config_sha256", "more.task_hash")
"""Facts that change with the number of items: of an earlier run they would differ from the planned one."""
_ARM_PLACES = ("arm", "label", "model", "identifier", "run_name")


@dataclass(frozen=True, slots=True)
class Draft:
    """A plan, its items, and the earlier results as a pilot. All of them are for files of the author's."""

    plan: Json
    items: str = field(repr=False)
    pilot: str = field(repr=False)
    remarks: tuple[str, ...]


@dataclass(slots=True)
class _Arm:
    """One arm's values by item, replicates apart."""

    name: str
    values: dict[str, list[float]]
    clusters: dict[str, str | None]
    replicates: int
    all_ok: bool

    @classmethod
    def of(cls, name: str, system: System) -> _Arm:
        values: dict[str, list[float]] = {}
        for item_id, value in zip(system.item_ids, system.values, strict=True):
            values.setdefault(item_id, [])
            if value is not None:
                values[item_id].append(value)
        clusters = system.label_of("cluster") if "cluster" in system.labels else {}
        whole = None not in system.values
        return cls(name, values, clusters, max(system.replicates, default=1), whole)

    def mean(self, item_id: str) -> str:
        """Of an item's replicates, as a cell; empty where there is none."""
        values = self.values.get(item_id)
        return repr(sum(values) / len(values)) if values else ""


def draft(client: Client, paths: Sequence[str], choices: Choices) -> Draft:
    """Return the plan that two earlier runs suggest, of files that are read as `forelock gate` reads them.

    Args:
        paths: a file or folder of each run, the baseline's first, or one that holds both.
        choices: what the command line says of them.

    Raises:
        FileFault: there are not two arms, or they have no item in common.
    """
    reading = read_for(
        client,
        [[path] for path in paths],
        choices,
        take_two,
        _require_common,
        prepare=_with_clusters,
        sources=False,
        compares=False,
    )
    _require_common(reading)
    section, names = _section(reading)
    arms = [_Arm.of(name, system) for name, system in zip(names, reading.systems, strict=True)]
    item_ids = list(dict.fromkeys([*arms[0].values, *arms[1].values]))
    both = [item_id for item_id in item_ids if all(item_id in arm.values for arm in arms)]
    clusters = _clusters(item_ids, arms)
    plan = _draft_plan(
        _make_answers(reading, arms, len(item_ids), clusters),
        max(arm.replicates for arm in arms),
        whole=all(arm.all_ok for arm in arms) and len(both) == len(item_ids),
    )
    cards = _cards([_in_common(side) for side in reading.opened.sides], names)
    contents, remark = pin_contents(item_ids, [_contents(system) for system in reading.systems])
    return Draft(
        plan | ({"import": section} if section else {}) | ({"arms": cards} if cards else {}),
        _items(item_ids, clusters, contents),
        _pilot(both, arms, clusters),
        (*reading.remarks, *_list_remarks(item_ids, both, reading, section), remark),
    )


def _with_clusters(opened: Opened, choices: Choices) -> Choices:
    """Return what items share, by the place that the files suggest where none is named."""
    suggested = {survey["section"].get("cluster") for survey in opened.surveys()}
    (place,) = suggested if len(suggested) == 1 else (None,)
    return replace(choices, cluster=place) if choices.cluster is None and place is not None else choices


def _require_common(reading: Reading) -> None:
    first, second = (set(system.item_ids) for system in reading.systems)
    if not first & second:
        raise FileFault(
            "the two runs have no item in common: name where the item ids stand (--set item_id=…)"
        )


def _section(reading: Reading) -> tuple[Json, list[str]]:
    """Return the mapping that an import of such files reads by, if there is one, and what the plan calls the arms."""
    opened = reading.opened
    section = dict(reading.sections[opened.key])
    names = [system.name for system in reading.systems]
    by_columns = opened.alone and "arm" not in section
    places = [] if opened.alone else _arm_places(opened)
    if places:
        section["arm"] = places[0]
        names = [side[0].survey["arms"][places[0]][0] for side in opened.sides]
    plain = all(_TOKEN.fullmatch(name) for name in names)
    called = names if plain and (opened.alone or places) else list(PAIR)
    if not plain and "arm" in section:
        section["arms"] = dict(zip(names, PAIR, strict=True))
    return ({} if by_columns else section), called


def _arm_places(opened: Opened) -> list[str]:
    """Places that tell the two files' arms apart, one in each."""
    first, second = (side[0].survey["arms"] for side in opened.sides)
    places = [
        path
        for path, values in first.items()
        if len(values) == 1 and len(second.get(path, ())) == 1 and second[path] != values
    ]
    return [path for word in _ARM_PLACES for path in places if path.rpartition(".")[2].lower() == word]


def _in_common(side: Sequence[Piece]) -> Json:
    """Return what the files of one arm all say of its system."""
    first, *others = [piece.survey.get("system") or {} for piece in side]
    return {name: value for name, value in first.items() if all(other.get(name) == value for other in others)}


def _contents(system: System) -> Json:
    return {"item_ids": system.item_ids, "contents": list(map(system.contents.get, system.item_ids))}


def _cards(systems: Sequence[Json], arms: Sequence[str]) -> list[Json]:
    """Return a card for each arm of which its file says something: model, decoding, harness."""
    if len(systems) < len(arms):  # one file of both arms: what both of them are
        systems = [*systems] * len(arms)
    return [
        {"id": arm, **_nest(system)}
        for arm, system in zip(arms, systems, strict=True)
        if "model.name" in system
    ]


def _nest(system: Json) -> Json:
    """Facts by dotted names as the members of a card."""
    card: Json = {}
    for name, value in system.items():
        if name in _OF_THE_PILOT:
            continue
        outer, _, inner = name.partition(".")
        cell = str(value) if outer == "more" or inner in _TEXTS else value
        if inner:
            card.setdefault(outer, {})[inner] = cell
        else:
            card[outer] = cell
    return card


def _clusters(item_ids: Sequence[str], arms: Sequence[_Arm]) -> dict[str, str] | None:
    """Return every item's cluster, where all have one and the files agree."""
    clusters: dict[str, str] = {}
    for item_id in item_ids:
        known = {arm.clusters.get(item_id) for arm in arms if item_id in arm.values}
        (cluster,) = known if len(known) == 1 else (None,)
        if cluster is None:
            return None
        clusters[item_id] = cluster
    return clusters


def _make_answers(
    reading: Reading, arms: Sequence[_Arm], n: int, clusters: Mapping[str, str] | None
) -> Answers:
    """Make the answers that a draft of a plan is written from, as far as two arms' results tell them."""
    section = reading.sections[reading.opened.key]
    values = [value for arm in arms for cell in arm.values.values() for value in cell]
    binary = bool(values) and set(values) <= {0.0, 1.0}
    endpoint_name = section.get("scorer") or section.get("metric") or section["format"]
    if endpoint_name in TABLES or "column-0" in section.values():  # a system's column is no measure's name
        endpoint_name = "accuracy" if binary else "score"
    endpoint = re.sub(r"[^A-Za-z0-9_.\-]+", "_", str(endpoint_name)).strip("_")[:64] or "score"
    spread = max(values) - min(values) if values else 1.0
    return Answers(
        title=f"{arms[1].name} against {arms[0].name}",
        dataset=f"the items of {reading.opened.first.one.paths[0].name}",
        n=n,
        baseline=arms[0].name,
        candidate=arms[1].name,
        endpoint=endpoint,
        binary=binary,
        claim="superiority",
        size=2.0 if binary else float(f"{max(spread, 1e-6) * 0.02:.2g}"),
        clusters=None if clusters is None else str(section["cluster"]).rpartition(".")[2],
        n_clusters=None if clusters is None else len(set(clusters.values())),
        independence="write why no two items are alike" if clusters is None else None,
        better="lower" if reading.lower else "higher",
    )


def _draft_plan(given: Answers, replicates: int, *, whole: bool) -> Json:
    """Draft the plan of the files' comparison.

    Several runs an item are averaged, which takes binary outcomes to a t-test.
    """
    plan = plan_of(given)
    if replicates > 1:
        plan["endpoints"][0] |= {"replicates": replicates, "collapse": "mean"}
        if given.binary and given.clusters is None:  # the mean of several is no 0 or 1
            plan["tests"] = [{"id": "t", "test": "t-test", "version": 1, "parameters": {"method": "paired"}}]
            way = "<" if given.better == "lower" else ">"
            plan["hypotheses"][0]["rule"] = f"delta {way} 0 and t.p_value < 0.05"
    plan["missing"] = "fail" if whole else "exclude_pair"
    return plan


def _list_remarks(
    item_ids: Sequence[str], both: Sequence[str], reading: Reading, section: Json
) -> Iterator[str]:
    """List what somebody should look at before the draft of a plan is locked."""
    yield "the smallest difference of interest (sesoi, and the statement) is a guess: write yours"
    if len(both) < len(item_ids):
        yield f"{len(item_ids) - len(both)} items are in one file only; the plan has all {len(item_ids)}"
    if not section:
        yield (
            "a table with a column for each system is not imported, so the plan has no import section: post "
            "results, or write a table with a row for each arm of an item"
        )
        return
    decided = [
        name
        for name in section
        if name not in ("format", "scorer", "metric", "filter", "item_id", "cluster", "arm", "arms")
    ]
    if decided:
        yield f"look at what the import section decides for you: {', '.join(decided)}"
    if "arm" not in section:
        yield "the files do not say which arm they are: name it with --arm when you import"
    others = reading.opened.forms[1:]
    if others:
        yield f"the import section reads {section['format']}: files of {', '.join(others)} are not imported by it"


def _items(
    item_ids: Sequence[str], clusters: Mapping[str, str] | None, contents: Mapping[str, str] | None
) -> str:
    beside = {"cluster": clusters, "content_sha256": contents}
    columns = {name: column for name, column in beside.items() if column is not None}
    return _csv(
        ["item_id", *columns],
        ([item_id, *(column[item_id] for column in columns.values())] for item_id in item_ids),
    )


def _pilot(both: Sequence[str], arms: Sequence[_Arm], clusters: Mapping[str, str] | None) -> str:
    header = ["baseline", "candidate"] + ([] if clusters is None else ["cluster"])
    return _csv(
        header,
        (
            [arm.mean(item_id) for arm in arms] + ([] if clusters is None else [clusters[item_id]])
            for item_id in both
        ),
    )


def _csv(header: Sequence[str], rows: Any) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()
