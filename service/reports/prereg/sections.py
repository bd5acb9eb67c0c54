"""The sections of a preregistration whose entries may be prose, and how each becomes a part of the plan."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from service.reports.prereg import prose
from service.reports.prereg.blocks import Item
from service.reports.prereg.gaps import READ_FROM_PROSE, Entry, Notes
from service.reports.prereg.passage import Heard, Passage, fold, quote
from service.reports.prereg.text import read, spans
from service.stats.shared.declaring.plan_use import Spoken
from service.stats.shared.declaring.registry import StatTest


@dataclass
class Draft:
    """A plan in the making."""

    value: Entry
    notes: Notes
    of_hypothesis: dict[str, str] = field(default_factory=dict)
    """Population ids by the hypothesis that a line of the sample size names."""
    sentences: dict[int, Passage] = field(default_factory=dict)
    """Rules in prose, by the identity of their hypotheses."""
    prosaic: list[Entry] = field(default_factory=list)
    """Hypotheses that prose speaks of, completed at the end."""

    def begin(self, section: str) -> None:
        """Make the section present, though it may turn out empty."""
        if section == "sesoi":
            self.value.setdefault("sesoi", Entry(self.value.line_of("sesoi")))
        # No list of authors is empty: where nobody is named it is not there.
        elif section not in ("authors", "rules"):
            self.value.setdefault(section, [])

    def nothing(self, section: str) -> None:
        """Note that the section says that there is nothing."""
        if section in ("multiplicity", "stopping", "missing", "import"):
            self.notes.add(
                "UNREAD", section, self.value.line_of(section), "say what applies instead of `none`"
            )
        else:
            self.begin(section)

    def entries(self, section: str) -> list[Entry]:
        """Return the entries of a section so far."""
        entries = self.value.get(section)
        return entries if isinstance(entries, list) else []

    def ids(self, section: str) -> list[str]:
        """Return the ids of a section's entries."""
        return [str(entry["id"]) for entry in self.entries(section) if "id" in entry]

    def assume(
        self,
        section: str,
        entry: Entry,
        name: str,
        value: Any,
        line: int | None = None,
        why: str = READ_FROM_PROSE,
    ) -> None:
        """Set a member that prose suggests, unless it is there, and say so.

        Where the value is `Heard`, its words count as read once the member has that value.
        """
        heard, value = (value, value.value) if isinstance(value, Heard) else (None, value)
        if value is None:
            return
        if name not in entry:
            entry.put(name, value, line or entry.line)
            self.notes.add("ASSUMED", section, line or entry.line, why, entry, name)
        if heard is not None and entry[name] == value:
            heard.take()

    def leave(self, section: str, line: int, pieces: list[str], entry: Entry | None = None) -> None:
        """Say which words of a line that was read no part of the draft holds."""
        if pieces:
            why = f"no part of a plan holds {quote(pieces)}; it will not be locked"
            self.notes.add("UNREAD", section, line, why, entry)

    def by_dataset(self) -> dict[str, str]:
        """Return the ids of the populations by their datasets' names."""
        return {
            str(entry.get("dataset")): str(entry["id"])
            for entry in self.entries("populations")
            if "id" in entry
        }

    def is_clustered(self, hypothesis: Mapping[str, Any]) -> bool:
        """Tell whether the hypothesis' population has clusters."""
        return any(
            "clusters" in entry
            for entry in self.entries("populations")
            if entry.get("id") == hypothesis.get("population")
        )

    def test_id(self, family: str, clustered: bool, line: int) -> str | None:
        """Return the id of the plan's test of that family, added when the plan does not list it."""
        meant = _meant(family, clustered)
        if meant is None:
            return None
        test, wanted = meant[0], meant[1].id
        for use in self.entries("tests"):
            if use.get("test") == test.name:
                return str(use["id"])
        entry = Entry(line, id=wanted, test=test.name, version=test.version)
        self.value.setdefault("tests", []).append(entry)
        self.notes.add("ASSUMED", "tests", line, f"`{test.name}` is added, as the text asks for it", entry)
        return wanted


def _meant(family: str, clustered: bool) -> tuple[StatTest[Any, Any], Spoken] | None:
    """Return the test that a word of prose means, with clusters or without."""
    known = (test for test in prose.spoken_tests() if test[1].family == family)
    return next((pair for pair in known if clustered in pair[1].clustered), None)


def population(draft: Draft, text: Passage, item: Item, name: Passage, entry: Entry) -> bool:
    """Read `H1a: n=500 (LongMemEval-S full)`, or a population's own entry."""
    head, rest = (name, text) if name.raw else text.split_head()
    title = read(name.raw) if name.raw else _bare(head)
    labelled = bool(name.raw) and not text.text and "dataset" in entry and "n" in entry
    titled_by_hypothesis = not labelled and re.fullmatch(r"H\d+[A-Za-z]?", title) is not None
    if titled_by_hypothesis or (title and entry.setdefault("id", title) == title):
        head.take_all()
    if text.text or not name.raw:
        count, dataset = prose.planned_n(rest), prose.dataset(rest)
        if count is None and "n" not in entry:
            return False
        draft.assume("populations", entry, "dataset", dataset)
        draft.assume("populations", entry, "id", prose.slug(str(entry.get("dataset", ""))))
        draft.assume("populations", entry, "n", count)
        draft.assume("populations", entry, "clusters", prose.clusters(rest))
    if titled_by_hypothesis:
        draft.of_hypothesis[title] = str(entry.get("id"))
        first = next(
            (
                population
                for population in draft.entries("populations")
                if population.get("id") == entry.get("id")
            ),
            None,
        )
        if first is not None:
            _again(draft, item, first, entry)
            return True
    draft.entries("populations").append(entry)
    return True


def _again(draft: Draft, item: Item, first: Entry, entry: Entry) -> None:
    """A population that stands above already: what this line says otherwise, or more, is left out and told."""
    draft.notes.drop(entry)
    other = [name for name, value in entry.items() if first.get(name) != value]
    if other:
        why = f"this population stands above with another {' and '.join(other)}, or none: say it there"
        draft.notes.add("INVALID", "populations", item.line, why)


def name_entry(entry: Entry, member: str, name: Passage) -> None:
    """Call an entry what stands in bold, unless a labelled line calls it otherwise: the bold name is left then."""
    if entry.setdefault(member, read(name.raw)) == read(name.raw):
        name.take_all()


def _bare(text: Passage) -> str:
    return text.text.strip(" *`")


_ROLES = {"primary": "primary", "主要": "primary", "主端点": "primary", "主要端点": "primary",
          "secondary": "secondary", "次要": "secondary", "次要端点": "secondary"}  # fmt: skip


def arm(draft: Draft, _text: Passage, _item: Item, name: Passage, entry: Entry) -> bool:
    """Read an arm's own entry. What prose says of a model is for its author to put under labels."""
    if not name.raw:
        return False
    name_entry(entry, "id", name)
    draft.entries("arms").append(entry)
    return True


def endpoint(draft: Draft, text: Passage, _item: Item, name: Passage, entry: Entry) -> bool:
    """Read `**paired binary accuracy** (per-question 0/1)`, `secondary: token-F1`, or an endpoint's own entry."""
    if name.raw and not text.text and "kind" in entry and "role" in entry:
        name_entry(entry, "id", name)
    else:
        head, rest = text.split_head()
        if name.raw or "(" in head.text:
            head, rest = text.part(0, 0), text
        role = _ROLES.get(_bare(head).casefold())
        if role is not None:
            head.take_all()
        model = next((heard for part in (text, name) if (heard := prose.judge(part))), None)
        if model is not None:
            judge = Heard({"model": model.value}, model.passage, model.spans)
            draft.assume("endpoints", entry, "judge", judge)
            model.take()
        entry_id = prose.endpoint_id(name if name.raw else rest)
        if entry_id is None:
            return False
        kind = next((heard for part in (text, name) if (heard := prose.endpoint_kind(part))), None)
        draft.assume("endpoints", entry, "id", entry_id)
        draft.assume("endpoints", entry, "kind", kind)
        draft.assume("endpoints", entry, "role", role or "primary")
        for part in (text, name):
            prose.take_endpoint(part, entry)
        known = draft.by_dataset()
        where = list(prose.find_mentioned(rest, list(known)))
        if where:
            ids = [known[match.value] for match in where]
            if len(where) < len(known):
                why = "the line names these populations; check it, or write `Populations`"
                draft.assume("endpoints", entry, "populations", ids, why=why)
            if len(where) == len(known) or entry.get("populations") == ids:
                for match in where:
                    match.take()
    draft.entries("endpoints").append(entry)
    return True


_OF_NO_ENDPOINT = (
    "this line names no endpoint and the plan has no primary one: describe it under `Primary endpoint`, or write "
    "`**NAME**: ±2 pp`; it will not be locked"
)


def sesoi(draft: Draft, text: Passage, item: Item, name: Passage, _entry: Entry) -> bool:
    """Read `±2 pp on binary accuracy`, or `**accuracy**: ±2 pp`."""
    heard = prose.margin(text)
    if heard is None:
        return False
    margin = {"value": heard.value[0], "unit": heard.value[1]}
    if name.raw:
        _margin(draft, read(name.raw), margin, item)
        name.take_all()
        heard.take()
        return True
    of = list(prose.find_mentioned(text, draft.ids("endpoints")))
    primary = [
        str(entry["id"])
        for entry in draft.entries("endpoints")
        if entry.get("role") == "primary" and "id" in entry
    ]
    for endpoint_id in [one.value for one in of] or primary[:1]:
        if _margin(draft, endpoint_id, margin, item):
            draft.notes.add("ASSUMED", f"sesoi.{endpoint_id}", item.line, f"the margin: {READ_FROM_PROSE}")
        for entry in draft.entries("endpoints"):
            if entry.get("id") == endpoint_id:
                prose.take_endpoint(text, entry)
    heard.take()
    for one in of:
        one.take()
    text.take_each(r"\bSESOI\b")
    if not of and not primary:
        draft.notes.add("UNREAD", "sesoi", item.line, _OF_NO_ENDPOINT)
    return True


def _margin(draft: Draft, endpoint: str, margin: dict[str, Any], item: Item) -> bool:
    """Set an endpoint's margin; false where it has one, which is said and stays."""
    if endpoint in draft.value["sesoi"]:
        why = f"'{endpoint}' has a margin above: give one, since this one is left out"
        draft.notes.add("INVALID", "sesoi", item.line, why)
        return False
    draft.value["sesoi"].put(endpoint, margin, item.line)
    return True


def test(draft: Draft, text: Passage, item: Item, name: Passage, entry: Entry) -> bool:
    """Read `McNemar (scipy.stats.binomtest …)`, or a test's own entry."""
    if "test" in entry:
        if name.raw:
            name_entry(entry, "id", name)
        entry.setdefault("id", prose.rule_name(str(entry["test"])))
        draft.entries("tests").append(entry)
        return True
    whole = f"{name.text} {text.text}"
    family = prose.family_of(whole)
    if family is None or entry:
        return False
    plain, clustered = _meant(family, False), _meant(family, True)
    meant = [] if plain is None else [plain]
    if clustered is not None and clustered[1].beside and re.search(r"cluster|聚类", whole, re.IGNORECASE):
        meant.append(clustered)
    for stat_test, spoken in meant:
        parameters = spoken.parameters(whole)
        made = Entry(
            item.line, id=spoken.id, test=stat_test.name, version=stat_test.version, parameters=parameters
        )
        draft.entries("tests").append(made)
        resampled = re.search(_RESAMPLES, whole, re.IGNORECASE)
        more = (
            "; the number of resamples is left out, since intervals are exact where they can be"
            if resampled
            else ""
        )
        draft.notes.add("ASSUMED", "tests", item.line, f"`{stat_test.name}`: {READ_FROM_PROSE}{more}", made)
        for part in (text, name):
            part.take_each(_RESAMPLES)
            prose.take_test(part, stat_test, spoken, parameters)
            _take_margin(draft, part)
    return bool(meant)


_RESAMPLES = r"(?:(?<![A-Za-z0-9_.])\d[\d,]{0,12}\s*(?:次\s*)?)?(?:resamples?|resampling|重采样)"


def _take_margin(draft: Draft, text: Passage) -> None:
    """A margin that a test's line repeats is in the plan where it is a margin of the plan."""
    heard = prose.margin(text)
    if (
        heard is not None
        and {"value": heard.value[0], "unit": heard.value[1]} in draft.value.get("sesoi", {}).values()
    ):
        heard.take()
        text.take_each(r"\bSESOI\b")


def threshold(draft: Draft, text: Passage, _item: Item, name: Passage, entry: Entry) -> bool:
    """Read `LoCoMo: τ = 0.47 (max_score p30 on dev split)`, or a threshold's own entry."""
    if "value" in entry and "chosen_by" in entry and name.raw:
        name_entry(entry, "name", name)
        draft.entries("thresholds").append(entry)
        return True
    head, rest = (name, text) if name.raw else text.split_head()
    choice = prose.chosen(rest)
    if choice is None:
        return False
    symbol = re.match(r"\s*([^\s=:]{1,40})\s*[=:]", rest.text)
    known = draft.by_dataset()
    where = next(prose.find_mentioned(head, list(known)), None)
    title = symbol[1] if symbol else _bare(head) or "threshold"
    draft.assume("thresholds", entry, "name", title)
    if where is not None:
        draft.assume("thresholds", entry, "population", Heard(known[where.value], where.passage, where.spans))
    draft.assume("thresholds", entry, "value", choice.value)
    draft.assume("thresholds", entry, "chosen_by", choice.how)
    draft.assume("thresholds", entry, "split", choice.split)
    if entry["name"] == title:
        (rest.part(*symbol.span(1)) if symbol else head).take_all()
    draft.entries("thresholds").append(entry)
    return True


def setting(section: str, name: str, reader: Callable[[Passage], Heard[str] | None]) -> Callable[..., bool]:
    """Return a section of one word, said in a sentence."""

    def take(draft: Draft, text: Passage, item: Item) -> bool:
        heard = None if section in draft.value else reader(text)
        if heard is None:
            return False
        heard.take()
        if section == name:
            draft.value.put(section, heard.value, item.line)
            draft.notes.add("ASSUMED", section, item.line, f"`{heard.value}`: {READ_FROM_PROSE}")
            return True
        made = Entry(item.line, **{name: heard.value})
        if section == "multiplicity":
            made["assumed"] = True
        draft.value.put(section, made, item.line)
        draft.notes.add("ASSUMED", section, item.line, f"`{heard.value}`: {READ_FROM_PROSE}", made, name)
        return True

    return take


def import_format(text: Passage) -> Heard[str] | None:
    """Return the format in a code span."""
    inside = spans(text.raw)
    match = text.search(re.escape(fold(inside[0]))) if inside else None
    return None if match is None else Heard(inside[0], text, (match.span(),))
