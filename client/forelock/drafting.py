"""A whole plan from two result files of earlier runs: items, clusters, endpoint, mapping, and pilot data for power."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from forelock.import_files import OneImport
from forelock.item_contents import pins
from forelock.problem import FileFault
from forelock.reading import read
from forelock.wizard import Answers, plan_of

if TYPE_CHECKING:
    from forelock.client import Client

Json = dict[str, Any]
_TOKEN = re.compile(r"[A-Za-z0-9_.\-]{1,64}")
TABLES = ("csv", "ndjson", "parquet")
"""Formats of columns, which name no measure."""
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

    values: dict[str, list[float]]
    clusters: dict[str, str | None]
    replicates: int
    all_ok: bool

    @classmethod
    def of(cls, table: Json) -> _Arm:
        values: dict[str, list[float]] = {}
        clusters: dict[str, str | None] = {}
        for item_id, cluster, value in zip(
            table["item_ids"], table["clusters"], table["values"], strict=True
        ):
            values.setdefault(item_id, [])
            clusters.setdefault(item_id, cluster)
            if value is not None:
                values[item_id].append(value)
        return cls(values, clusters, max(table["replicates"], default=1), set(table["status"]) <= {"ok"})

    def mean(self, item_id: str) -> str:
        """Of an item's replicates, as a cell; empty where there is none."""
        values = self.values.get(item_id)
        return repr(sum(values) / len(values)) if values else ""


def draft(client: Client, form: str, ones: Sequence[OneImport]) -> Draft:
    """The plan that two earlier runs suggest; a single file may hold both arms.

    Raises:
        FileFault: there are not two arms, or they have no item in common.
    """
    surveys = [read(client, one, form)["survey"] for one in ones]
    section, names = _section(surveys)
    if len(ones) == 1 and "arm" not in section:
        raise FileFault(
            f"{ones[0].name}: does not say which arm a row is of; name two files, the baseline's first"
            + (", each with the columns item_id and value" if section["format"] in TABLES else "")
        )
    tables = [
        table
        for one, name in zip(ones, names, strict=True)
        for table in _tables(client, one, form, section, name)
    ]
    if len(tables) != 2:
        raise FileFault(f"{ones[0].name}: holds {len(tables)} arms; name two files, the baseline's first")
    arms = [_Arm.of(table) for table in tables]
    item_ids = list(dict.fromkeys([*arms[0].values, *arms[1].values]))
    both = [item_id for item_id in item_ids if all(item_id in arm.values for arm in arms)]
    if not both:
        raise FileFault(
            "the two files have no item in common; name where the ids stand, in a plan of your own"
        )
    clusters = _clusters(item_ids, arms) if "cluster" in section else None
    values = [value for arm in arms for cell in arm.values.values() for value in cell]
    binary = bool(values) and set(values) <= {0.0, 1.0}
    given = _answers(ones, tables, len(item_ids), clusters, binary, section, values)
    plan = _plan(
        given,
        section,
        max(arm.replicates for arm in arms),
        whole=all(arm.all_ok for arm in arms) and len(both) == len(item_ids),
    )
    cards = _cards([survey.get("system") or {} for survey in surveys], [table["arm"] for table in tables])
    contents, remark = pins(item_ids, tables)
    return Draft(
        plan | ({"arms": cards} if cards else {}),
        _items(item_ids, clusters, contents),
        _pilot(both, arms, clusters),
        (*_remarks(item_ids, both, section), remark),
    )


def _section(surveys: Sequence[Json]) -> tuple[Json, list[str | None]]:
    """One mapping for both files, and the arm of each where no file says it."""
    section = dict(surveys[0]["section"])
    for survey in surveys[1:]:
        section = {**survey["section"], **section}
    if len(surveys) == 1:
        names = surveys[0]["arms"].get(section.get("arm"), [])
        if len(names) == 2 and not all(_TOKEN.fullmatch(name) for name in names):
            section["arms"] = dict(zip(names, ("baseline", "candidate"), strict=True))
        return section, [None]
    places = [
        path
        for path, values in surveys[0]["arms"].items()
        if len(values) == 1 and path in surveys[1]["arms"] and surveys[1]["arms"][path] != values
    ]
    arm_columns = [path for word in _ARM_PLACES for path in places if path.rpartition(".")[2].lower() == word]
    if not arm_columns:
        return section, ["baseline", "candidate"]
    section["arm"] = arm_columns[0]
    names = [survey["arms"][arm_columns[0]][0] for survey in surveys]
    if not all(_TOKEN.fullmatch(name) for name in names):
        section["arms"] = dict(zip(names, ("baseline", "candidate"), strict=True))
    return section, [None, None]


def _cards(systems: Sequence[Json], arms: Sequence[str]) -> list[Json]:
    """A card for each arm of which its file says something: model, decoding, harness."""
    if len(systems) < len(arms):  # one file of both arms: what both of them are
        systems = [*systems] * len(arms)
    return [
        {"id": arm, **_nested(system)}
        for arm, system in zip(arms, systems, strict=True)
        if "model.name" in system
    ]


def _nested(system: Json) -> Json:
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


def _tables(client: Client, one: OneImport, form: str, section: Json, arm: str | None) -> list[Json]:
    survey = read(client, one, form, section, arm)
    if survey["problem"] is not None:
        raise FileFault(f"{one.name}: {survey['problem']['detail']}")
    tables: list[Json] = survey["table"]
    return tables


def _clusters(item_ids: Sequence[str], arms: Sequence[_Arm]) -> dict[str, str] | None:
    """Every item's cluster, where all have one and the files agree."""
    clusters: dict[str, str] = {}
    for item_id in item_ids:
        known = {arm.clusters[item_id] for arm in arms if item_id in arm.clusters}
        (cluster,) = known if len(known) == 1 else (None,)
        if cluster is None:
            return None
        clusters[item_id] = cluster
    return clusters


def _answers(
    ones: Sequence[OneImport], tables: Sequence[Json], n: int, clusters: Mapping[str, str] | None, binary: bool,
    section: Json, values: Sequence[float],
) -> Answers:  # fmt: skip
    endpoint_name = section.get("scorer") or section.get("metric") or section["format"]
    if endpoint_name in TABLES:
        endpoint_name = "accuracy" if binary else "score"
    endpoint = re.sub(r"[^A-Za-z0-9_.\-]+", "_", str(endpoint_name)).strip("_")[:64] or "score"
    spread = max(values) - min(values) if values else 1.0
    return Answers(
        title=f"{tables[1]['arm']} against {tables[0]['arm']}",
        dataset=f"the items of {ones[0].paths[0].name}",
        n=n,
        baseline=tables[0]["arm"],
        candidate=tables[1]["arm"],
        endpoint=endpoint,
        binary=binary,
        claim="superiority",
        size=2.0 if binary else float(f"{max(spread, 1e-6) * 0.02:.2g}"),
        clusters=None if clusters is None else str(section["cluster"]).rpartition(".")[2],
        n_clusters=None if clusters is None else len(set(clusters.values())),
        independence="write why no two items are alike" if clusters is None else None,
    )


def _plan(given: Answers, section: Json, replicates: int, *, whole: bool) -> Json:
    plan = plan_of(given)
    if replicates > 1:
        plan["endpoints"][0] |= {"replicates": replicates, "collapse": "mean"}
        if given.binary and given.clusters is None:  # the mean of several is no 0 or 1
            plan["tests"] = [{"id": "t", "test": "t-test", "version": 1, "parameters": {"method": "paired"}}]
            plan["hypotheses"][0]["rule"] = "delta > 0 and t.p_value < 0.05"
    plan["missing"] = "fail" if whole else "exclude_pair"
    return plan | {"import": section}


def _remarks(item_ids: Sequence[str], both: Sequence[str], section: Json) -> Iterator[str]:
    yield "the smallest difference of interest (sesoi, and the statement) is a guess: write yours"
    if len(both) < len(item_ids):
        yield f"{len(item_ids) - len(both)} items are in one file only; the plan has all {len(item_ids)}"
    decided = [
        name
        for name in section
        if name not in ("format", "scorer", "metric", "filter", "item_id", "cluster", "arm", "arms")
    ]
    if decided:
        yield f"look at what the import section decides for you: {', '.join(decided)}"
    if "arm" not in section:
        yield "the files do not say which arm they are: name it with --arm when you import"


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
