"""What a person reads in a terminal: verdicts, lint findings, problems, progress."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TextIO

from forelock.folding import fold
from forelock.problem import Fault, ForelockProblem
from forelock.small_tables import lay_out
from forelock.words import ENGLISH, Say, pad, width_of

_COMPUTED = re.compile(r"[\s\x00-\x1f\ufeff]*[=+\-@|%'\uff1d\uff0b\uff0d\uff20]")
"""What a spreadsheet takes for a formula, with its full-width forms; and the apostrophe itself, so that it can be taken
off again."""

Json = Mapping[str, Any]

OUTCOMES = {
    "supported": "SUPPORTED",
    "not_supported": "NOT SUPPORTED (which does not show that there is no effect)",
    "equivalent": "EQUIVALENT within the margin",
    "inconclusive": "INCONCLUSIVE",
    "invalid": "INVALID",
}
MARKED = {"invalid": "INVALID", "flag": "MARKED", "note": "NOTED"}
WIDTH = 100
STATEMENT = 80
"""Columns of a statement that is printed beside others."""
MARKS = {True: "holds", False: "fails", None: "unknown"}

EXIT_CODES = {"invalid": 4, "inconclusive": 12, "not_supported": 10, "equivalent": 11, "supported": 0}
"""Exit status of an outcome; of several hypotheses the first listed here that is present."""


def exit_code(verdict: Json) -> int:
    """The exit status that tells CI what a verdict says."""
    outcomes = {hypothesis.get("outcome") for hypothesis in verdict.get("hypotheses", ())}
    return next((code for outcome, code in EXIT_CODES.items() if outcome in outcomes), 1)


def verdict_text(
    verdict: Json, words: Json | None = None, *, explain: bool = True, say: Say = ENGLISH
) -> str:
    """A verdict, hypothesis by hypothesis and clause by clause.

    Args:
        words: its sentences, by which every hypothesis begins with its headline, and ends with what can be done next.
        explain: also the whole sentence, the rule, and those of the tests, where a headline says the outcome.
    """
    spoken = {judged["hypothesis"]: judged for judged in (words or {}).get("hypotheses", ())}
    blocks = [
        _format_hypothesis(
            hypothesis,
            spoken.get(hypothesis["id"], {}),
            say,
            explain=explain,
            several=len(verdict["hypotheses"]) > 1,
        )
        for hypothesis in verdict["hypotheses"]
    ]
    voided = [
        say("struck", batch=batch["batch"], reason=plain(batch["reason"]))
        for batch in verdict.get("voided_batches", ())
    ]
    marks = [_wrap(mark) for mark in _marks(verdict, words or {}, say)]
    text = plain(((words or {}).get("arrival") or {}).get(say.language) or "")
    arrival = [hanging(text, "", "  ")] if text else []
    return "\n\n".join([*marks, *arrival, *blocks, *voided])


def judged_plan_text(verdict: Json, words: Json | None, say: Say = ENGLISH) -> str:
    """Which plan was judged, what happened since its lock, and the warnings it was locked with.

    Empty of a service of an earlier version, which tells none of it beside a verdict.
    """
    if not words or "version" not in words:
        return ""
    return "\n".join(hanging(line, "", "  ") for line in _list_plan_lines(verdict, words, say) if line)


def _list_plan_lines(verdict: Json, words: Json, say: Say) -> Iterable[str]:
    """List the lines on the plan that was judged: its lock, what happened since, and warnings at the lock."""
    locked = plain(words.get("locked_at") or "")[:16].replace("T", " ")
    yield say(
        "plan_of_verdict",
        id=plain(verdict.get("preregistration_id") or ""),
        version=words["version"],
        locked=f"{locked} UTC",
        sha256=plain(verdict.get("plan_sha256") or ""),
    )
    yield plain((words.get("since_lock") or {}).get(say.language) or "")
    named: dict[str, list[str]] = {}
    meanings: dict[str, str] = {}
    for warning in words.get("warnings") or ():
        code = plain(warning["code"])
        meanings[code] = plain((warning.get("meaning") or {}).get(say.language) or "")
        names = named.setdefault(code, [])
        if warning.get("of") and plain(warning["of"]) not in names:
            names.append(plain(warning["of"]))
    for code, names in named.items():
        of = say("warning_of", names=say("names").join(names)) if names else ""
        meaning = meanings[code]
        yield say("warning_at_lock" if meaning else "warning_code_at_lock", code=code, of=of, meaning=meaning)


def _marks(verdict: Json, words: Json, say: Say) -> Iterable[str]:
    """What stands against the verdict: its own lines in English, those of its sentences in another language."""
    translated = words.get("marks") or ()
    if say.language != "en" and translated:
        return [plain(mark.get(say.language) or mark["en"]) for mark in translated]
    return [
        f"{MARKED.get(mark['effect'], plain(mark['effect']))}: {plain(mark['says'])}{_list_concerned(mark)}"
        for mark in verdict.get("marks", ())
    ]


def _list_concerned(mark: Json) -> str:
    """The hypotheses of a mark that does not concern all of them."""
    named = mark.get("hypotheses")
    return "" if named is None else f" ({', '.join(map(plain, named))})"


def headline_of(spoken: Json, language: str = "en") -> tuple[str, str]:
    """The outcome in a line, and what was not shown; empty of a service of an earlier version."""
    line, rest = (spoken.get(name) or {} for name in ("headline", "open"))
    return plain(line.get(language) or ""), plain(rest.get(language) or "")


def _format_hypothesis(hypothesis: Json, spoken: Json, say: Say, *, explain: bool, several: bool) -> str:
    """Format the outcome of a hypothesis: its headline, what can be done next, and the clauses of its rule.

    With `explain` also what led there; of one of `several` also what it states, shortened.
    """
    outcome, name = hypothesis["outcome"], plain(hypothesis["id"])
    line, rest = headline_of(spoken, say.language)
    explain = explain or not line
    ship, step, known = (
        plain((spoken.get(part) or {}).get(say.language) or "") for part in ("ship", "next", "known")
    )
    lines = [f"{name}: {say(f'verdict_{outcome}') if outcome in OUTCOMES else plain(outcome)}"]
    if line:
        lines = [hanging(line, f"{name}: ", "    "), *map(_wrap, filter(None, (rest, ship)))]
    statement = plain(hypothesis.get("statement") or "")
    if several and statement and line:
        lines.insert(1, say("planned_statement", statement=_shorten(statement)))
    lines += _next_lines(spoken.get("next_sizes"), step, say)
    sentence, rule = plain(hypothesis.get("sentence") or ""), plain(hypothesis.get("rule") or "")
    if say.language != "en":
        sentence = plain((spoken.get("sentences") or {}).get(say.language) or sentence)
    if explain:
        lines += [_wrap(sentence)] if sentence else []
        lines += [f"  rule: {rule}"] if rule and rule not in sentence else []
    clauses = hypothesis.get("clauses") or ()
    decided = plain((spoken.get("decided") or {}).get(say.language) or "")
    lines += [_wrap(decided)] if decided else []
    width = max((len(plain(clause["text"])) for clause in clauses), default=0)
    in_points = any(" pp" in clause["text"] for clause in clauses)
    why = {entry["clause"]: entry["why"] for entry in spoken.get("open_clauses") or ()}
    for clause in clauses:
        seen = describe_observed(clause, say, points=in_points and _is_effect(clause["text"]))
        if isinstance(clause.get("observed"), Mapping):
            seen += _level_among(hypothesis.get("analyses") or {}, clause["text"], say)
        shown_value = say("observed", value=seen)
        if clause.get("unadjusted") is not None:
            before = _number(clause["unadjusted"], False)
            shown_value = say("observed_unadjusted", value=seen, unadjusted=before)
        mark = say(MARKS[clause["holds"]])
        clause_line = (
            f"  {' ' * max(7 - width_of(mark), 0)}{mark}  {plain(clause['text']):<{width}}  {shown_value}"
        )
        reason = in_language(why.get(clause["text"]), clause.get("reason"), say)
        lines.append(say("with_note", name=clause_line, note=reason) if reason else clause_line)
    if clauses and "n_planned" in hypothesis:
        n, planned = (hypothesis[name] for name in ("n", "n_planned"))
        lines.append(_wrap(say("judged_on", n=n, planned=planned)))
    if hypothesis.get("reason") and explain:
        reason = in_language(spoken.get("reason"), hypothesis["reason"], say)
        lines.append(_wrap(say("because", reason=reason)))
    said = {entry["id"]: entry["says"] for entry in spoken.get("tests") or ()}
    for test, answer in (hypothesis.get("analyses") or {}).items():
        english = ((answer or {}).get("analysis") or {}).get("sentence")
        sentence = in_language(said.get(test), english, say)
        lines += [_wrap(f"{plain(test)}: {sentence}")] if sentence and explain else []
    lines += [_wrap(known)] if known else []
    return "\n".join(lines)


def _next_lines(sizes: Json | None, step: str, say: Say) -> list[str]:
    """What can be done next: a sentence with a table of sizes where the service has one, else its sentences."""
    if not sizes:
        return [_wrap(step)] if step else []

    def read(words: Json) -> str:
        return plain(words.get(say.language) or words["en"])

    cells = ("goal", "truth", "here", "needed")
    rows = [[*map(read, sizes["head"])], *([read(goal[cell]) for cell in cells] for goal in sizes["goals"])]
    notes = [_wrap(read(note)) for note in sizes["notes"]]
    return [_wrap(read(sizes["lead"])), lay_out(rows, WIDTH, "    "), *notes]


def _shorten(statement: str) -> str:
    """The beginning of a statement where it is longer than a line."""
    if width_of(statement) <= STATEMENT:
        return statement
    while width_of(statement) >= STATEMENT:
        statement = statement[:-1]
    return f"{statement.rstrip()}…"


def in_language(words: Json | None, english: Any, say: Say) -> str:
    """What a verdict keeps in English, in the language of the reader where its words have it."""
    return plain((words or {}).get(say.language) or english or "")


def hanging(words: str, first: str, rest: str | None = None) -> str:
    """Words in lines of a terminal's width: `first` before the first, `rest` (or as many spaces) before the others."""
    return fold(words, WIDTH, first, " " * width_of(first) if rest is None else rest)


def _wrap(sentences: str) -> str:
    return hanging(sentences, "  ", "    ")


def describe_observed(clause: Json, say: Say, *, points: bool) -> str:
    """What a clause saw; a proportion in percentage points where the rule speaks of them."""
    value = clause.get("observed")
    if value is None:
        return say("observed_nothing")
    if isinstance(value, bool):
        return say("observed_true" if value else "observed_false")
    if isinstance(value, Mapping):
        if value.get("low") is None and value.get("high") is None:
            return say("observed_undefined")
        low, high = (_number(value.get(end), points) for end in ("low", "high"))
        return f"[{low or say('unbounded')}, {high or say('unbounded')}]"
    return _number(value, points)


def _level_among(analyses: Json, clause: str, say: Say) -> str:
    """Return the level of a clause's interval, where a test beside it has another."""
    levels = {
        name: level
        for name, answer in analyses.items()
        if isinstance(ci := ((answer or {}).get("analysis") or {}).get("ci"), Mapping)
        and isinstance(level := ci.get("level"), int | float)
    }
    test, _, path = clause.split(" ", 1)[0].partition(".")
    own = levels.get(test)
    if path != "ci" or own is None or len(set(levels.values())) < 2:
        return ""
    return f"{say('comma')}{100 * own:g}%"


def _is_effect(clause: str) -> bool:
    """True for `delta`, and for the difference or an interval of a test (`bootstrap.ci`)."""
    field = clause.split(" ", 1)[0].split(".")
    return field[0] == "delta" or (len(field) > 1 and field[1] in ("delta", "ci", "intervals"))


def _number(value: Any, points: bool) -> str:
    if value is None:
        return ""
    return f"{100 * value:+.2f} pp" if points else f"{value:.4g}"


def findings_text(findings: Iterable[Json], say: Say = ENGLISH, translate: Callable[[str], str] = str) -> str:
    """List lint findings a line each, errors first; `translate` says their English in the language of `say`."""
    ordered = sorted(findings, key=lambda finding: finding["severity"])
    lines = []
    for finding in ordered:
        severity, path = finding["severity"], finding.get("path")
        severity = say(f"finding_{severity}") if severity in ("error", "warning") else plain(severity)
        where = say("finding_at", path=plain(path)) if path else ""
        message = plain(translate(finding["message"]))
        lines.append(
            say("finding", severity=severity, code=plain(finding["code"]), where=where, message=message)
        )
    return "\n".join(lines) or say("no_findings")


def gaps_text(gaps: Iterable[Json], say: Say = ENGLISH, translate: Callable[[str], str] = str) -> str:
    """What a plan in Markdown leaves open: what was assumed or not read by line, then lint errors."""
    return "\n".join(
        say(
            "gap",
            line=pad(say("gap_line", n=gap["line"]) if gap.get("line") else say("gap_no_line"), 8),
            code=plain(gap["code"]),
            where=say("finding_at", path=plain(gap["path"])) if gap.get("path") else "",
            message=plain(translate(plain(gap["message"]))),
        )
        for gap in gaps
    )


def record_text(record: Json, say: Say = ENGLISH) -> str:
    """A preregistration in a few lines."""
    plan = record.get("plan") or {}
    version = say("record_version", n=record.get("version", 1))
    lines = [
        f"{plain(record['id'])}  {plain(say.state(record['state']))}  {version}",
        f"  {plain(plan.get('title') or say('without_title'))}",
        *(
            f"  {plain(hypothesis['id'])}: {plain(hypothesis.get('rule') or '')}"
            for hypothesis in plan.get("hypotheses") or ()
        ),
    ]
    if record.get("plan_sha256"):
        at = plain(record.get("locked_at") or "")
        lines.append("  " + say("record_locked", at=at, sha256=record["plan_sha256"]))
    if record.get("published"):
        lines.append("  " + say("record_public", at=plain(record["published"].get("at") or "")))
    elif record.get("embargo_until"):
        lines.append("  " + say("record_embargo", until=plain(record["embargo_until"])))
    for named in record.get("named_arms") or ():
        model = (named.get("card") or {}).get("model") or {}
        words = " ".join(plain(model[part]) for part in ("name", "revision") if model.get(part))
        arm, at = plain(named["arm"]), plain(named.get("at") or "")
        lines.append("  " + say("record_named", arm=arm, at=at, words=words))
    return "\n".join(lines)


def progress_text(progress: Json, say: Say = ENGLISH) -> str:
    """How many results are in, in all and cell by cell."""
    state = plain(say.state(progress["state"]))
    head = say("progress", state=state, n=progress["received"], of=progress["expected"])
    cells = [
        "  "
        + say(
            "progress_cell",
            cell=f"{plain(cell['population'])} / {plain(cell['arm'])} / {plain(cell['endpoint'])}",
            n=cell["received"],
            of=cell["expected"],
        )
        for cell in progress.get("cells") or ()
    ]
    return "\n".join([head, *cells])


def problem_text(problem: ForelockProblem, say: Callable[[str], str] = str) -> str:
    """A refusal: code and sentence, then every faulty field with its way out; one that says the same is said once.

    `say` says a sentence of it in the language of whoever reads.
    """
    colon, semicolon = (": ", "; ") if say is str else ("：", "；")
    detail = problem.detail
    if say is not str and (
        fault := next((fault for fault in problem.errors if _begins(detail, fault)), None)
    ):
        detail = f"{fault.path}{colon}{say(fault.message)}"
    lines = [f"{plain(problem.code)}{colon}{plain(say(detail))}"]
    for fault in problem.errors:
        fix = f"{semicolon}{plain(say(fault.fix))}" if fault.fix else ""
        if len(problem.errors) == 1 and problem.detail == fault.sentence:
            lines[0] += fix
        else:
            lines.append(f"  {plain(fault.path) or '(whole body)'}{colon}{plain(say(fault.message))}{fix}")
    if problem.request_id:
        lines.append(f"  request {plain(problem.request_id)}")
    return "\n".join(lines)


def _begins(detail: str, fault: Fault) -> bool:
    """Tell whether a refusal is a fault with its field before it, without a colon."""
    return bool(fault.path) and detail == f"{fault.path} {fault.message}"


UNFIT = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Categories of characters that move the cursor, turn the line around or end it, and show nothing of themselves."""
NO_CHARACTERS = "\ufffe\uffff"
"""What no XML may hold, not even escaped: a picture of it would be none."""
_BEYOND_ASCII = re.compile(r"[^ -~\n\t]")


def plain(text: object) -> str:
    """Text fit for a line of a terminal and for XML: control and direction characters become `?`."""
    return "".join("?" if _is_unfit(char) else char for char in str(text))


def escape_cell(text: str) -> str:
    """A text as the cell of a table that no spreadsheet computes: an apostrophe stands before what it would.

    Example:
        >>> escape_cell("=1+1"), escape_cell("item 1"), escape_cell("'item 1'")
        ("'=1+1", 'item 1', "''item 1'")
    """
    return f"'{text}" if _COMPUTED.match(text) else text


def mask(text: str) -> str:
    """Text fit for a terminal, its own lines and tabs kept: whatever is printed goes through here."""
    return _replace(text, lambda _char: "?")


def json_text(value: Any) -> str:
    """A value as JSON that is fit for a terminal: what would move the cursor is escaped, and means the same."""
    written = json.dumps(value, indent=2, ensure_ascii=False)
    return _replace(written, lambda char: json.dumps(char)[1:-1])


def _is_unfit(char: str) -> bool:
    return unicodedata.category(char) in UNFIT or char in NO_CHARACTERS


def _replace(text: str, instead: Callable[[str], str]) -> str:
    def one(match: re.Match[str]) -> str:
        return instead(match[0]) if _is_unfit(match[0]) else match[0]

    return _BEYOND_ASCII.sub(one, text)


class Bar:
    """A progress bar; silent where the stream is not a terminal."""

    WIDTH = 30

    def __init__(self, label: str, total: int, stream: TextIO) -> None:
        self.label, self.total, self.done = label, max(total, 1), 0
        self._stream = stream if stream.isatty() else None

    def advance(self, steps: int) -> None:
        """Count finished steps, and draw the line anew."""
        self.done += steps
        if self._stream is None:
            return
        full = self.WIDTH * min(self.done, self.total) // self.total
        bar = "#" * full + "." * (self.WIDTH - full)
        self._stream.write(f"\r{self.label} [{bar}] {self.done}/{self.total}")
        self._stream.flush()

    def close(self) -> None:
        """End the line of progress, so that the next text begins below it."""
        if self._stream is not None:
            self._stream.write("\n")
