"""The report of a verdict as Markdown: tables, sentences, and nothing that Markdown could take for its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from forelock.numerals import raise_powers
from service.reports.prereg.text import code, paragraph, write_item
from service.reports.prereg.text import sentence as write_sentence
from service.reports.verdict.content import HypothesisReport, Report
from service.reports.verdict.words import (
    check_line,
    clause_rows,
    effect_lines,
    embargo_line,
    evidence_lines,
    interval_rows,
    kind_word,
    leaves_line,
    outcome_of,
    reason_text,
    say,
    sizes_table,
    slices_line,
    slices_table,
    standing_line,
    statistics_of,
    statistics_table,
    tasks_table,
    warning_lines,
)
from service.words import Language
from service.words.punctuation import colon, pause, sentences


def print_markdown(report: Report, language: Language = "en") -> str:
    """Print the whole report as Markdown."""
    parts = [f"# {say('report', language)}{colon(language)}{_line(report.title)}"]
    if report.authors:
        parts.append("\n".join(f"- {_line(author.text())}" for author in report.authors))
    if report.embargo_until is not None:
        parts.append(embargo_line(report.embargo_until, language))
    if report.marks:
        parts.append("\n".join(f"- **!** {sentence(mark.of(language))}" for mark in report.marks))
    if report.arrival.en:
        parts.append(sentence(report.arrival.of(language)))
    parts += [part for hypothesis in report.hypotheses for part in _lead(hypothesis, language)]
    if report.since_lock.en:
        parts.append(sentence(report.since_lock.of(language)))
    parts.append(
        f"**{say('check_title', language)}**{colon(language)}{sentence(check_line(report, language))}"
    )
    parts += [part for hypothesis in report.hypotheses for part in _write_hypothesis(hypothesis, language)]
    parts += _write_end(report, language)
    return "\n\n".join(parts) + "\n"


def _lead(hypothesis: HypothesisReport, language: Language) -> Iterator[str]:
    """The headline, what was not shown, whether it is safe to ship, what can be done next, and what the lock knew."""
    headline = sentence(hypothesis.headline.of(language))
    yield f"**{_line(hypothesis.id)}{colon(language)}{headline}**"
    if hypothesis.open.en:
        yield sentence(hypothesis.open.of(language))
    if hypothesis.ship.en:
        yield sentence(hypothesis.ship.of(language))
    sizes = hypothesis.next_sizes
    if sizes is not None:
        yield sentence(sizes.lead.of(language))
        yield _sizes(*sizes_table(sizes, language))
        yield from (sentence(note.of(language)) for note in sizes.notes)
    elif hypothesis.next.en:
        yield sentence(hypothesis.next.of(language))
    if hypothesis.known.en:
        yield sentence(hypothesis.known.of(language))


def _tests(hypothesis: HypothesisReport, language: Language) -> Iterator[str]:
    for test in hypothesis.tests:
        yield f"- {code(test.id)}{colon(language)}{_line(raise_powers(statistics_of(test, language)))}"
        yield f"  - {sentence(test.says.of(language))}"


def _write_hypothesis(hypothesis: HypothesisReport, language: Language) -> Iterator[str]:
    """Write the blocks of one hypothesis in Markdown, from its heading to what it was judged on."""
    yield f"## {_line(hypothesis.id)}{colon(language)}{outcome_of(hypothesis, language)}"
    yield paragraph(hypothesis.statement)
    if hypothesis.arms:
        yield f"### {say('basic', language)}"
        yield _table(*statistics_table(hypothesis, language))
    yield f"### {say('tests', language)}"
    yield "\n".join(_tests(hypothesis, language)) or "–"
    rows = interval_rows(hypothesis, language)
    if rows:
        yield f"### {say('intervals', language)}"
        yield _table(("", say("interval", language), say("method", language)), rows)
    yield f"### {say('clauses', language)}"
    yield f"{say('rule', language)}{colon(language)}{code(hypothesis.rule)}"
    if hypothesis.decided.en:
        yield sentence(hypothesis.decided.of(language))
    yield _table(
        tuple(say(name, language) for name in ("clause", "observed", "threshold", "truth")),
        clause_rows(hypothesis, language),
    )
    head, tasks = tasks_table(hypothesis, language)
    if tasks:
        yield f"### {say('tasks', language)}"
        yield _table(head, tasks)
    head, sliced = slices_table(hypothesis, language)
    if hypothesis.slices is not None:
        yield f"### {say('slices', language)}"
        if sliced:
            yield _table(head, sliced)
        yield sentence(slices_line(hypothesis, language))
    yield f"### {say('conclusion', language)}"
    text = hypothesis.sentences.of(language)
    yield sentence(text)
    judged = say("judged_on", language, n=str(hypothesis.n), planned=str(hypothesis.n_planned))
    yield sentences((judged, sentence(reason_text(hypothesis, language))), language)


def _write_end(report: Report, language: Language) -> Iterator[str]:
    """Write what follows the hypotheses in Markdown: arms, deviations, evidence and the ledger."""
    if report.arms:
        yield f"## {say('arms', language)}"
        yield "\n".join(f"- {code(arm.id)}{colon(language)}{_line(arm.says)}" for arm in report.arms)
    if report.warnings:
        yield f"## {say('acknowledged', language)}"
        yield "\n".join(f"- {sentence(line)}" for line in warning_lines(report, language))
    yield f"## {say('deviations', language)}"
    yield "\n".join(
        f"{deviation.number}. {_line(deviation.title)}{colon(language)}{sentence(standing_line(deviation, language))}"
        for deviation in report.deviations
    ) or say("no_deviation", language)
    lines = effect_lines(report, language)
    if lines:
        yield "\n".join([say("stays", language), "", *(f"- {sentence(line)}" for line in lines)])
    yield f"## {say('evidence', language)}{colon(language)}{report.evidence_score} / {report.evidence_most}"
    yield "\n".join(f"- {sentence(line)}" for line in evidence_lines(report, language))
    yield f"## {say('timeline', language)}"
    yield "\n".join(
        f"- {entry.at.isoformat()} {kind_word(entry.kind, language)}{pause(language)}"
        f"{say('leaf', language)} {entry.sequence} `{entry.leaf_sha256}`"
        for entry in report.ledger
    )
    if between := leaves_line(report, language):
        yield between
    yield (
        f"{say('plan', language)} {code(report.preregistration_id)}{pause(language)}"
        f"{say('version', language)} {report.version}{pause(language)}SHA-256 `{report.plan_sha256}`"
    )


def _sizes(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of sentences of ours: what they quote is code."""
    lines = [[sentence(cell).replace("|", "\\|") for cell in line] for line in (head, *rows)]
    lines.insert(1, ["---"] * len(head))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    raised = ([row[0], *map(raise_powers, row[1:])] for row in rows)
    lines = [head, ["---"] * len(head), *raised]
    return "\n".join(
        "| " + " | ".join(text if text == "---" else _cell(text) for text in line) + " |" for line in lines
    )


def sentence(text: str) -> str:
    """Return a sentence of ours on one line, its very small numbers as powers of ten."""
    return write_sentence(raise_powers(text))


def _cell(text: str) -> str:
    return _line(text).replace("|", "\\|")


def _line(text: str) -> str:
    """Anybody's text within a line: no line of it begins anything."""
    line = " ".join(text.split())
    return write_item(line) if line else ""
