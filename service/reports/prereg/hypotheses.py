"""Hypotheses and their rules, labelled or in prose: `**H1a**: synthesis (C3) improves … over retrieval (C1) …`."""

from __future__ import annotations

import re

from service.reports.prereg import prose
from service.reports.prereg.blocks import Item
from service.reports.prereg.gaps import READ_FROM_PROSE, Entry
from service.reports.prereg.sections import Draft
from service.reports.prereg.text import read, spans

LABELLED = ("claim", "population", "baseline", "candidate", "endpoint")
"""What a hypothesis must say under its statement, or leave to be read from prose."""


def hypothesis(draft: Draft, said: str, item: Item, name: str, entry: Entry) -> bool:
    """A hypothesis: its name, its statement, and labelled lines under it."""
    if not name:
        head, _ = prose.headed(said)
        if not re.fullmatch(r"[A-Za-z]\w{0,63}", head):
            return False
        name, said = head, re.split(r"[::]", said, maxsplit=1)[1]
    entry.put("id", name, item.line)
    if said.strip():
        entry.put("statement", read(said), item.line)
    draft.entries("hypotheses").append(entry)
    if any(part not in entry for part in LABELLED):
        draft.prosaic.append(entry)
    return True


def rule(draft: Draft, said: str, item: Item, name: str, _entry: Entry) -> bool:
    """A decision rule: in the rule language, or a sentence such as `Pass H1a iff … AND …`."""
    known = draft.ids("hypotheses")
    if not name:
        of = [each for each in known if re.search(rf"(?<!\w){re.escape(each)}(?!\w)", said)]
        if len(of) != 1:
            return False
        name = of[0]
    found = next((each for each in draft.entries("hypotheses") if each.get("id") == name), None)
    if found is None or "rule" in found:
        draft.notes.add(
            "INVALID", "hypotheses", item.line, f"no hypothesis without a rule is called '{name}'"
        )
        return True
    inside = spans(said)
    if inside:
        found.put("rule", inside[0], item.line)
        return True
    arms = prose.arms_of_delta(said)
    if arms is not None:
        draft.assume("hypotheses", found, "baseline", arms[0], item.line)
        draft.assume("hypotheses", found, "candidate", arms[1], item.line)
    found["sentence"], found.lines["rule"] = said, item.line
    if found not in draft.prosaic:
        draft.prosaic.append(found)
    return True


def finish(draft: Draft) -> None:
    """Complete what rests on several sections."""
    for entry in draft.prosaic:
        _complete(draft, entry)
    multiplicity = draft.value.get("multiplicity", {})
    if multiplicity.pop("assumed", False):
        multiplicity["family"] = draft.ids("hypotheses")


def _complete(draft: Draft, entry: Entry) -> None:
    """Fill in what the statement, the sample size and the only primary endpoint tell."""
    section, statement = "hypotheses", str(entry.get("statement", ""))
    labelled = all(part in entry for part in LABELLED)
    draft.assume(section, entry, "claim", prose.claim(statement))
    draft.assume(section, entry, "population", _population(draft, entry, statement))
    primary = [
        str(each["id"])
        for each in draft.entries("endpoints")
        if each.get("role") == "primary" and "id" in each
    ]
    if len(primary) == 1:
        draft.assume(section, entry, "endpoint", primary[0])
    arms = prose.arms_in_parentheses(statement)
    if arms is not None:
        draft.assume(section, entry, "baseline", arms[0])
        draft.assume(section, entry, "candidate", arms[1])
    sentence = entry.pop("sentence", None)
    if sentence is not None:
        _rule(draft, entry, str(sentence))
    named = [str(each["id"]) for each in draft.entries("tests") if each.get("test") == "equivalence"]
    if not labelled and len(named) == 1:
        why = f"`{named[0]}` may find equivalence where the rule is false: check it"
        draft.assume(section, entry, "equivalence", named[0], why=why)


def _population(draft: Draft, entry: Entry, statement: str) -> str | None:
    named = draft.of_hypothesis.get(str(entry.get("id")))
    if named in draft.ids("populations"):
        return named
    known = {
        str(each.get("dataset")): str(each["id"]) for each in draft.entries("populations") if "id" in each
    }
    known |= {each: each for each in draft.ids("populations")}
    found = {known[each] for each in prose.mentioned(statement, list(known))}
    if len(found) == 1:
        return found.pop()
    return draft.ids("populations")[0] if len(draft.ids("populations")) == 1 else None


def _rule(draft: Draft, entry: Entry, sentence: str) -> None:
    line, parts = entry.line_of("rule"), prose.rule(sentence)
    clauses = []
    unread = list(parts.unread)
    for text, family, said_clustered in parts.clauses:
        test_id = (
            None if family is None else draft.test_id(family, said_clustered or draft.clustered(entry), line)
        )
        if family is not None and test_id is None:
            unread.append(text)
        clauses.append(text.format(test_id))
    if unread or not clauses:
        entry["rule"] = prose.fold(read(sentence)).strip()[:2000]
        what = f"{len(unread)} of its clauses" if clauses else "it"
        why = f"the rule stands as it is written, since {what} cannot be put into the rule language"
    else:
        entry["rule"], why = " and ".join(clauses), READ_FROM_PROSE
    draft.notes.add("ASSUMED", "hypotheses", line, why, entry, "rule")
