"""The fixed words of a verdict's report in both languages, and how its numbers are written."""

from __future__ import annotations

import itertools
from datetime import date
from typing import Any

import service.words
from service.domain.evidence.card import MOST_PER_PIECE, title
from service.domain.notes.next_table import NextSizes
from service.domain.rules.fields import EFFECT_FIELDS
from service.domain.rules.grammar import parse
from service.domain.rules.rule import Comparison, Excludes, Quantity, Within
from service.domain.verdicts.parts import Span
from service.domain.verdicts.records import ClauseVerdict
from service.domain.verdicts.words.levels import differing_levels, level_behind
from service.domain.verdicts.words.reasons import reason_message
from service.domain.verdicts.words.slices import beside_table
from service.reports.verdict.content import (
    DeviationLine,
    EvidenceLine,
    HypothesisReport,
    Interval,
    Report,
    TestFound,
)
from service.stats.shared.declaring.sentences import level_text, p_text
from service.words import Language, list_values, message
from service.words.catalogue import templates
from service.words.punctuation import colon, in_parentheses, pause, sentences, stop


def say(key: str, language: Language, /, **values: str) -> str:
    """Return a fixed word of reports, in a language."""
    return service.words.say(f"reports.{key}", language, **values)


def embargo_line(day: date, language: Language) -> str:
    """Say until when nobody outside the project reads the record."""
    return say("embargo", language, day=day.isoformat())


def outcome_word(outcome: str, language: Language) -> str:
    """Return the word for an outcome that people read."""
    return service.words.say(f"verdicts.{outcome}", language)


def outcome_of(hypothesis: HypothesisReport, language: Language) -> str:
    """Return the word for the outcome of a hypothesis, qualified where its headline is."""
    how = "" if hypothesis.qualified is None else f"_{hypothesis.qualified}"
    return outcome_word(f"{hypothesis.outcome}{how}", language)


def standing_word(standing: str, language: Language) -> str:
    """Return what stands about a deviation."""
    return say(f"standing_{standing}", language)


def standing_line(deviation: DeviationLine, language: Language) -> str:
    """Return what stands about a deviation, who decided so, and what the rules say of it."""
    line = standing_word(deviation.standing, language)
    if deviation.decided_by is not None:
        other = deviation.classification not in (None, deviation.standing)
        word = standing_word(deviation.classification or deviation.standing, language)
        line += in_parentheses(
            say("decided_by" if other else "confirmed_by", language, name=deviation.decided_by, word=word),
            language,
        )
    rule = deviation.rule
    if rule is None:
        return line
    key = f"rule_{rule.id.replace('-', '_')}"
    says = rule.says if language == "en" or key not in templates(language, "reports") else say(key, language)
    return f"{line}{pause(language)}{say('by_rule', language)} `{rule.id}`{colon(language)}{says}"


def reason_text(hypothesis: HypothesisReport, language: Language) -> str:
    """Say why the outcome is not what the rule alone says, as a sentence; empty where nothing is to be said."""
    if hypothesis.reason is None or language == "en":
        return hypothesis.reason or ""
    unknown = [clause for clause in hypothesis.clauses if clause.holds is None]
    if hypothesis.outcome != "inconclusive" or not unknown:
        return say("why", language, reason=reason_message(hypothesis.reason).text(language))
    reasons = list_values(
        (
            message("verdicts.unknown_clause", clause=clause.text, reason=reason_message(clause.reason))
            for clause in unknown
        ),
        "lists.semicolon",
    )
    return say("why", language, reason=reasons.text(language))


def kind_word(kind: str, language: Language) -> str:
    """Return the words for what a ledger entry says that happened."""
    return (
        say(f"event_{kind}", language)
        if f"event_{kind}" in templates(language, "reports")
        else kind.replace("_", " ")
    )


def value(number: float | None, *, binary: bool, signed: bool = False, language: Language = "en") -> str:
    """A value of an endpoint: percent where it is right or wrong, else four digits; a difference has its sign."""
    if number is None:
        return "–"
    if binary:
        points = f"{100 * number:+.2f}"
        return service.words.say("units.points", language, value=points) if signed else f"{100 * number:.2f}%"
    return f"{number:+.4g}" if signed else f"{number:.4g}"


def span(
    low: float | None, high: float | None, *, binary: bool, signed: bool = True, language: Language = "en"
) -> str:
    """Return both ends of an interval; one end may be open, and without any there is none."""
    if low is None and high is None:
        return say("undefined", language)
    if binary and signed and language != "en":  # where the unit is long, it stands once
        ends = ("−∞" if low is None else f"{100 * low:+.2f}", "∞" if high is None else f"{100 * high:+.2f}")
        return service.words.say("units.points", language, value=f"[{ends[0]}, {ends[1]}]")
    ends = ("−∞" if low is None else value(low, binary=binary, signed=signed),
            "∞" if high is None else value(high, binary=binary, signed=signed))  # fmt: skip
    return f"[{ends[0]}, {ends[1]}]"


def p_of(test: TestFound, language: Language) -> str:
    """Say `p = 0.033 (two-sided)`; nothing where there is none."""
    if test.p_value is None:
        return ""
    p, key = p_text(test.p_value, test.p_bound), f"sides_{(test.sides or '').replace('-', '_')}"
    return p + in_parentheses(say(key, language), language) if key in templates(language, "reports") else p


def statistics_of(test: TestFound, language: Language) -> str:
    """Return the statistic, p, effect sizes and what else is estimated, in one line."""
    parts = [f"{estimate_word(estimate.name, language)} = {estimate.value:.4g}" for estimate in test.estimates
             if estimate.name not in test.effects]  # fmt: skip
    parts += [f"{name} = {value:.4g}" for name, value in test.statistics.items()]
    parts += [p_of(test, language)] if test.p_value is not None else []
    parts += [f"{say(name, language)} = {value:.3g}" for name, value in test.effects.items()]
    return pause(language).join(parts)


def estimate_word(name: str, language: Language) -> str:
    """Return what a test estimates beside the difference."""
    return say(name, language) if name in templates(language, "reports") else name.replace("_", " ")


def is_binary(hypothesis: HypothesisReport, test: TestFound) -> bool:
    """Whether differences of a test are proportions: by its own endpoint, where it reads another."""
    return hypothesis.binary if test.binary is None else test.binary


def rows_of_tests(hypothesis: HypothesisReport, language: Language) -> list[tuple[str, str, str, str, str]]:
    """Return per test: its id, estimate, interval, how that was made, and p. No row says that there is nothing to say.

    A test whose estimate is no difference has that; where neither is defined, its sentence stands for it.
    """
    rows = []
    for test in hypothesis.tests:
        name = test.id if test.endpoint is None else f"{test.id}{pause(language)}{test.endpoint}"
        own = [
            (f"{name}{colon(language)}{estimate_word(one.name, language)}", f"{one.value:.4g}",
             span(one.ci.low, one.ci.high, binary=False, signed=False, language=language),
             _interval_method(one.ci, language))
            for one in test.estimates
        ]  # fmt: skip
        binary = is_binary(hypothesis, test)
        if test.delta is not None and (test.ci is not None or not own):
            ends = (
                say("undefined", language)
                if test.ci is None
                else span(test.ci.low, test.ci.high, binary=binary, language=language)
            )
            made = "" if test.ci is None else _interval_method(test.ci, language)
            own.insert(
                0, (name, value(test.delta, binary=binary, signed=True, language=language), ends, made)
            )
        rows += [(*row, p_of(test, language) if at == 0 else "") for at, row in enumerate(own)]
        if not own:
            rows.append((name, say("undefined", language), "", "", p_of(test, language)))
    return rows


def _interval_method(ci: Interval, language: Language) -> str:
    return f"{level_text(ci.level)} {service.words.name_of_method(ci.method, language)}"


def _arm_method(method: str, language: Language) -> str:
    """Return how the interval of an arm's mean was made."""
    key = f"of_arm_{method}"
    return (
        say(key, language)
        if key in templates(language, "reports")
        else service.words.name_of_method(method, language)
    )


def clause_rows(hypothesis: HypothesisReport, language: Language) -> list[tuple[str, str, str, str]]:
    """Return every clause; those on another endpoint are in its own unit."""
    units = {test.id: is_binary(hypothesis, test) for test in hypothesis.tests}
    levels = differing_levels((test.id, test.ci.level) for test in hypothesis.tests if test.ci is not None)
    return [
        clause_row(
            clause,
            binary=units.get(clause.text.split(".")[0], hypothesis.binary),
            signed=hypothesis.reference is None,
            level=level_behind(clause, levels, language),
            language=language,
        )
        for clause in hypothesis.clauses
    ]


def clause_row(
    clause: ClauseVerdict, *, binary: bool, signed: bool, level: str, language: Language
) -> tuple[str, str, str, str]:
    """Return clause, observed, threshold and truth, as texts; `signed` differences, or the means of one arm.

    `level` stands behind what was observed (`level_behind`).
    """
    planned = parse(clause.text)
    effect = isinstance(planned, Comparison | Excludes | Within) and planned.field.path[0] in EFFECT_FIELDS
    match planned:
        case Within():
            threshold = f"{quantity_text(planned.low, language)} … {quantity_text(planned.high, language)}"
        case Comparison() | Excludes():
            threshold = quantity_text(planned.value, language)
        case _:
            threshold = _format_observed(clause.threshold, points=False, language=language)
    truth = say({True: "holds", False: "fails", None: "unknown"}[clause.holds], language)
    return (
        clause.text,
        _format_observed(clause.observed, points=binary and effect, signed=signed, language=language) + level,
        threshold,
        truth,
    )


def quantity_text(quantity: Quantity, language: Language) -> str:
    """Return a number of a rule as the rule writes it, its percentage points in the language of the text."""
    if quantity.unit != "pp":
        return str(quantity)
    return service.words.say("units.points", language, value=str(quantity).removesuffix(" pp"))


def _format_observed(observed: Any, *, points: bool, signed: bool = True, language: Language) -> str:
    if observed is None:
        return say("undefined", language)
    if isinstance(observed, bool):
        return "true" if observed else "false"
    if isinstance(observed, Span):
        return span(observed.low, observed.high, binary=points, signed=signed, language=language)
    return value(observed, binary=True, signed=signed, language=language) if points else f"{observed:.4g}"


def statistics_table(
    hypothesis: HypothesisReport, language: Language
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Head and rows of the basic statistics: both arms side by side, and their difference; or one arm alone."""
    head = (say("metric", language), *(arm.arm for arm in hypothesis.arms), say("difference", language))
    width = len(hypothesis.arms) + (1 if hypothesis.reference is not None else 2)
    rows: list[tuple[str, ...]] = [(say("items", language), *(str(arm.n) for arm in hypothesis.arms), "")]
    for name in ("mean", "sd") if hypothesis.binary else ("mean", "sd", "median", "min", "max"):
        numbers = [getattr(arm, name) for arm in hypothesis.arms]
        change = (
            ""
            if None in numbers or len(numbers) != 2
            else value(numbers[1] - numbers[0], binary=hypothesis.binary, signed=True, language=language)
        )
        rows.append((say(name, language), *(value(one, binary=hypothesis.binary) for one in numbers), change))
    return head[:width], [row[:width] for row in rows]


def interval_rows(hypothesis: HypothesisReport, language: Language) -> list[tuple[str, str, str]]:
    """Return what, interval, and how it was made: of both arms, then of what every test estimates."""
    rows = [
        (
            arm.arm,
            span(arm.low, arm.high, binary=hypothesis.binary, signed=False, language=language),
            f"{level_text(arm.level)} {_arm_method(arm.method, language)}",
        )
        for arm in hypothesis.arms
        if arm.method is not None
    ]
    for test in hypothesis.tests:
        read = in_parentheses(
            test.id if test.endpoint is None else f"{test.id}{pause(language)}{test.endpoint}", language
        )
        if test.ci is not None and test.delta is not None:
            ends = span(test.ci.low, test.ci.high, binary=is_binary(hypothesis, test), language=language)
            rows.append(
                (
                    f"{hypothesis.candidate} − {hypothesis.baseline}{read}",
                    ends,
                    _interval_method(test.ci, language),
                )
            )
        rows += [
            (f"{estimate_word(one.name, language)}{read}",
             span(one.ci.low, one.ci.high, binary=False, signed=False, language=language),
             _interval_method(one.ci, language))
            for one in test.estimates
        ]  # fmt: skip
    return rows


def slices_table(
    hypothesis: HypothesisReport, language: Language
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Head and rows of the slices that the plan asks about; no rows where it asks nothing or cannot tell them apart."""
    names = ("slice", "items", "difference", "against_margin", "loses", "loses_more", "standing")
    results = () if hypothesis.slices is None else hypothesis.slices.slices
    allowed = None if hypothesis.slices is None else hypothesis.slices.no_worse_than
    margin = value(allowed, binary=hypothesis.binary, signed=True, language=language).lstrip("+")
    rows = [
        (
            one.slice,
            str(one.n),
            value(one.delta, binary=hypothesis.binary, signed=True, language=language),
            "–"
            if one.ci is None
            else span(one.ci.low, one.ci.high, binary=hypothesis.binary, language=language),
            *("–" if p is None else p_text(p, None) for p in (one.p_value, one.p_loss_holm)),
            say(one.outcome, language),
        )
        for one in results
    ]
    return tuple(say(name, language, margin=margin) for name in names), rows


def tasks_table(
    hypothesis: HypothesisReport, language: Language
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the head and rows of the tasks of a suite; no rows of one population, or without an answer."""
    one_arm = hypothesis.baseline is None
    names = ("task", "weight", "items", "mean" if one_arm else "difference", "interval", "standing")
    rows: list[tuple[str, ...]] = [
        (
            one.task,
            f"{100 * one.weight:.1f}%",
            str(one.n),
            value(one.estimate, binary=hypothesis.binary, signed=not one_arm, language=language),
            span(one.low, one.high, binary=hypothesis.binary, signed=not one_arm, language=language),
            say("task_lost" if one.lost else "task_gained", language) if one.lost or one.gained else "–",
        )
        for one in hypothesis.tasks or ()
    ]
    return tuple(say(name, language) for name in names), rows


def slices_line(hypothesis: HypothesisReport, language: Language) -> str:
    """The sentence under that table: whether the arms change sides; empty where the plan asks nothing of slices."""
    if hypothesis.slices is None:
        return ""
    return beside_table(hypothesis.slices, binary=hypothesis.binary, language=language)


def slice_marks(hypothesis: HypothesisReport) -> tuple[str, ...]:
    """Say how each row of that table is coloured: as a clause that holds, that fails, or of which nothing is known."""
    marks = {"pass": "holds", "fail": "fails", "cannot_tell": "unknown"}
    return () if hypothesis.slices is None else tuple(marks[one.outcome] for one in hypothesis.slices.slices)


def warning_lines(report: Report, language: Language) -> list[str]:
    """Warnings of the lock, each once: its code, whose it is, and what it says."""
    said: dict[tuple[str, str], list[str]] = {}
    for warning in report.warnings:
        text = warning.says.of(language)
        names = said.setdefault((warning.code, text), [])
        if warning.of and warning.of not in names:
            names.append(warning.of)
    comma = service.words.say("lists.comma", language)
    return [
        f"`{code}` {comma.join(names)}{colon(language)}{text}" if names else f"`{code}` {text}"
        for (code, text), names in said.items()
    ]


def evidence_lines(report: Report, language: Language) -> list[str]:
    """Return the pieces of evidence with their scores, and why one does not score the most."""
    lines = []
    for piece in report.evidence:
        score = "–" if piece.score is None else f"{piece.score} / {MOST_PER_PIECE}"
        first = f"{piece.title.of(language)}{colon(language)}{score}"
        lacks = lacks_line(report, piece, language)
        lines.append(sentences((first + stop(language), lacks), language) if lacks else first)
    return lines


def lacks_line(report: Report, piece: EvidenceLine, language: Language) -> str:
    """What a piece of evidence lacks, what is the author's word alone, and what its points do not say; else empty."""
    semicolon = service.words.say("lists.semicolon", language)
    parts = {"lacks": piece.lacks, "declared": piece.declared}
    lines = [
        say(key, language, what=semicolon.join(said.of(language) for said in parts[key]))
        for key in parts
        if parts[key]
    ]
    if piece.score == MOST_PER_PIECE and piece.title == title("no_optional_stopping"):
        lines.append(_line_of_failed(report, language))
    if piece.score == MOST_PER_PIECE and piece.title == title("preregistration"):
        lines.append(report.arrival.of(language))
    return sentences(lines, language)


def _line_of_failed(report: Report, language: Language) -> str:
    """That results which failed count as in, and how few were judged; empty where every planned item was."""
    judged = [
        message("reports.judged_of", hypothesis=hypothesis.id, n=hypothesis.n, planned=hypothesis.n_planned)
        for hypothesis in report.hypotheses
        if hypothesis.n < hypothesis.n_planned
    ]
    if not judged:
        return ""
    return say("failed_are_in", language, judged=list_values(judged, "lists.semicolon").text(language))


def sizes_table(sizes: NextSizes, language: Language) -> tuple[list[str], list[list[str]]]:
    """Return head and rows of the sizes of a next study."""
    head = [cell.of(language) for cell in sizes.head]
    return head, [[cell.of(language) for cell in goal.cells] for goal in sizes.goals]


def check_line(report: Report, language: Language) -> str:
    """Return the commands by which a reader checks the record without the service, and what that shows and does not."""
    return sentences(
        (say("check", language, id=report.preregistration_id), report.limits.of(language)), language
    )


def leaves_line(report: Report, language: Language) -> str:
    """Say whose the leaves between those of a record are; empty where their numbers follow one another."""
    numbers = [entry.sequence for entry in report.ledger]
    jumps = any(after > before + 1 for before, after in itertools.pairwise(numbers))
    return say("leaves_between", language) if jumps else ""


def effect_lines(report: Report, language: Language) -> list[str]:
    """Return what deviations do, a sentence per hypothesis."""
    lines = []
    semicolon = service.words.say("lists.semicolon", language)
    for effect in report.effects:
        parts = []
        if effect.outcome_as_run is not None and effect.outcome_planned is not None:
            parts.append(
                f"{say('planned', language)} {outcome_word(effect.outcome_planned, language)}"
                f"{pause(language)}"
                f"{say('as_run', language)} {outcome_word(effect.outcome_as_run, language)}"
            )
        if effect.robust:
            parts.append(say("robust", language))
        elif effect.tipping_items is not None and effect.outcome_then is not None:
            parts.append(
                f"{effect.tipping_items} {say('tipping', language)} {outcome_word(effect.outcome_then, language)}"
            )
        if parts:
            lines.append(f"{effect.hypothesis}{colon(language)}{semicolon.join(parts)}")
    return lines
