"""Hypotheses and their rules, labelled or in prose: `**H1a**: synthesis (C3) improves … over retrieval (C1) …`."""

from __future__ import annotations

import re

from service.reports.prereg import prose
from service.reports.prereg.blocks import Item
from service.reports.prereg.gaps import READ_FROM_PROSE, Entry
from service.reports.prereg.passage import Passage, fold
from service.reports.prereg.sections import Draft
from service.reports.prereg.text import outside, read, spans

LABELLED = ("claim", "population", "candidate", "endpoint")
"""What a hypothesis must say under its statement, or leave to be read from prose; and what it is compared with."""
MAX_RULE = 2000
"""Characters of a rule that stands as it is written."""


def hypothesis(draft: Draft, text: Passage, item: Item, name: Passage, entry: Entry) -> bool:
    """Read a hypothesis: its name, its statement, and labelled lines under it."""
    title, statement = read(name.raw), text.raw
    if not name.raw:
        title = text.split_head()[0].text.strip(" *`")
        if not re.fullmatch(r"[A-Za-z]\w{0,63}", title):
            return False
        statement = re.split(r"[:：]", statement, maxsplit=1)[1]
    if entry.setdefault("id", title) == title:
        name.take_all()
    if not statement.strip() or entry.setdefault("statement", read(statement)) == read(statement):
        entry.lines.setdefault("statement", item.line)
        text.take_all()
    draft.entries("hypotheses").append(entry)
    if not _is_labelled(entry):
        draft.prosaic.append(entry)
    return True


def _is_labelled(entry: Entry) -> bool:
    """Tell whether labelled lines say all that a hypothesis of its claim must say."""
    compared = "reference" if entry.get("claim") == "at_least" else "baseline"
    return all(part in entry for part in (*LABELLED, compared))


def rule(draft: Draft, text: Passage, item: Item, name: Passage, _entry: Entry) -> bool:
    """Read a decision rule: in the rule language, or a sentence such as `Pass H1a iff … AND …`."""
    known, title = draft.ids("hypotheses"), read(name.raw)
    if not name.raw:
        of = [
            known_name
            for known_name in known
            if re.search(rf"(?<!\w){re.escape(known_name)}(?!\w)", text.raw)
        ]
        if len(of) != 1:
            return False
        title = of[0]
    name.take_all()
    entry = next((entry for entry in draft.entries("hypotheses") if entry.get("id") == title), None)
    if entry is None or "rule" in entry or id(entry) in draft.sentences:
        text.take_all()
        draft.notes.add(
            "INVALID", "hypotheses", item.line, f"no hypothesis without a rule is called '{title}'"
        )
        return True
    inside = spans(text.raw)
    if inside:
        entry.put("rule", inside[0], item.line)
        text.take_all()
        beside = Passage(outside(text.raw, 1))
        _take_opening(beside, title)
        draft.leave("hypotheses", item.line, beside.list_left(), entry)
        return True
    arms = prose.arms_of_delta(text.raw)
    if arms is not None:
        draft.assume("hypotheses", entry, "baseline", arms[0], item.line)
        draft.assume("hypotheses", entry, "candidate", arms[1], item.line)
    draft.sentences[id(entry)] = text
    entry.lines["rule"] = item.line
    if not any(other is entry for other in draft.prosaic):
        draft.prosaic.append(entry)
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
    labelled = _is_labelled(entry)
    draft.assume(section, entry, "claim", prose.claim(statement))
    draft.assume(section, entry, "population", _choose_population(draft, entry, statement))
    primary = [
        str(entry["id"])
        for entry in draft.entries("endpoints")
        if entry.get("role") == "primary" and "id" in entry
    ]
    if len(primary) == 1:
        draft.assume(section, entry, "endpoint", primary[0])
    if entry.get("claim") == "at_least":
        draft.assume(section, entry, "reference", prose.reference(statement))
        draft.assume(section, entry, "candidate", prose.arm_in_parentheses(statement))
    arms = None if entry.get("claim") == "at_least" else prose.arms_in_parentheses(statement)
    if arms is not None:
        draft.assume(section, entry, "baseline", arms[0])
        draft.assume(section, entry, "candidate", arms[1])
    sentence = draft.sentences.get(id(entry))
    if sentence is not None:
        _put_rule(draft, entry, sentence)
    equivalence_tests = [
        str(entry["id"]) for entry in draft.entries("tests") if entry.get("test") == "equivalence"
    ]
    if not labelled and len(equivalence_tests) == 1 and entry.get("claim") != "at_least":
        why = f"`{equivalence_tests[0]}` may find equivalence where the rule is false: check it"
        draft.assume(section, entry, "equivalence", equivalence_tests[0], why=why)


def _choose_population(draft: Draft, entry: Entry, statement: str) -> str | None:
    """Return a hypothesis's population: that of its heading, the only one it mentions, or the draft's only one."""
    population = draft.of_hypothesis.get(str(entry.get("id")))
    if population in draft.ids("populations"):
        return population
    known = draft.by_dataset() | {name: name for name in draft.ids("populations")}
    known |= {name: name for name in draft.ids("suites")}
    mentioned = {known[match.value] for match in prose.find_mentioned(Passage(statement), list(known))}
    if len(mentioned) == 1:
        return mentioned.pop()
    return draft.ids("populations")[0] if len(draft.ids("populations")) == 1 else None


def _put_rule(draft: Draft, entry: Entry, sentence: Passage) -> None:
    """Put a rule into an entry: in the rule language if all its clauses can be said there, else as it is written."""
    line, parts = entry.line_of("rule"), prose.rule(sentence)
    clauses = []
    unread = [*parts.unread, *(["its end"] if sentence.beyond else ())]
    for clause in parts.clauses:
        test_id = None
        if clause.family is not None:
            clustered = clause.clustered or draft.is_clustered(entry)
            test_id = draft.test_id(clause.family, clustered, line)
        text = clause.text.format(test_id)
        if (clause.family is not None and test_id is None) or not _says_all(draft, entry, clause, test_id):
            unread.append(text)
        clauses.append(text)
    if unread or not clauses:
        whole = fold(read(sentence.raw)).strip()
        entry["rule"] = whole[:MAX_RULE]
        what = f"{len(unread)} of its clauses" if clauses else "it"
        why = f"the rule stands as it is written, since {what} cannot be put into the rule language"
        if sentence.beyond or len(whole) > MAX_RULE:
            draft.leave("hypotheses", line, [f"what follows the first {MAX_RULE} characters"], entry)
    else:
        entry["rule"], why = " and ".join(clauses), READ_FROM_PROSE
        if parts.before is not None:
            _take_opening(parts.before, str(entry.get("id")))
            draft.leave("hypotheses", line, parts.before.list_left(), entry)
    draft.notes.add("ASSUMED", "hypotheses", line, why, entry, "rule")


def _says_all(draft: Draft, entry: Entry, clause: prose.Clause, test_id: str | None) -> bool:
    """Whether a clause in the rule language says all that its sentence says: its arms, and how its test is made."""
    if clause.arms is not None:
        arms = prose.arms_of_delta(f"delta{clause.arms.text}")
        return arms is not None and arms == (entry.get("baseline"), entry.get("candidate"))
    if clause.beside is None:
        return True
    made = next((entry for entry in draft.entries("tests") if entry.get("id") == test_id), Entry(0))
    for stat_test, spoken in prose.spoken_tests():
        if stat_test.name == made.get("test"):
            prose.take_test(clause.beside, stat_test, spoken, made.get("parameters", {}))
    return not clause.beside.list_left()


def _take_opening(text: Passage, name: str) -> None:
    """`Pass H1a iff`: the rule is the hypothesis', and that it passes when it holds is what a rule is."""
    text.take_each(
        rf"(?<!\w){re.escape(fold(name))}(?!\w)|\b(?:pass(?:es)?|support(?:ed)?|accept(?:ed)?|iff?|when|only|is|we)\b"
    )
    text.take_each(r"通过|成立|支持|接受|当且仅当|当")
