"""The report of a verdict for a paper: a booktabs table, a figure and the sentence, to be pasted or compiled.

Every text of others is escaped; what LaTeX cannot carry becomes a question mark. English compiles with any engine,
Chinese with XeLaTeX or LuaLaTeX.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from forelock.numerals import raise_powers
from service.domain.verdicts.words.reasons import multiplicity_message
from service.reports.quoting import pieces
from service.reports.verdict.content import HypothesisReport, Report
from service.reports.verdict.words import (
    check_line,
    embargo_line,
    interval_rows,
    outcome_of,
    rows_of_tests,
    say,
    sizes_table,
    slices_line,
    slices_table,
    standing_line,
    statistics_table,
    tasks_table,
    warning_lines,
)
from service.words import Language, fonts
from service.words.punctuation import colon, in_parentheses, pause, sentences, stop

_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}", "`": r"\textasciigrave{}", "'": r"\textquotesingle{}",
    "−": r"\ensuremath{-}", "∞": r"\ensuremath{\infty}", "–": "--", "±": r"\ensuremath{\pm}", "[": "{[}", "]": "{]}",
    "≤": r"\ensuremath{\leq}", "≥": r"\ensuremath{\geq}", "≠": r"\ensuremath{\neq}", "≈": r"\ensuremath{\approx}",
    "×": r"\ensuremath{\times}", "⁻": r"\textsuperscript{\ensuremath{-}}",
    **{raised: rf"\textsuperscript{{{digit}}}" for digit, raised in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")},
    "α": r"\ensuremath{\alpha}", "β": r"\ensuremath{\beta}", "δ": r"\ensuremath{\delta}", "Δ": r"\ensuremath{\Delta}",
}  # fmt: skip
PREAMBLE = r"""% The figure is charts/forest.pdf of the same record, beside this file.
\documentclass{article}
\usepackage{booktabs}
\usepackage{graphicx}
\usepackage{textcomp}
\usepackage{iftex}
FONTS\emergencystretch=3em
\begin{document}
"""
_BREAK = 8
"""Digits of a hash after which its line may break."""


def escape(text: str) -> str:
    r"""Write text as LaTeX that prints it: no command, no argument, no comment, no ligature of it is left.

    Example:
        `100% \input{x}` becomes `100\% \textbackslash{}input\{x\}`.
    """
    escaped = (
        _SPECIAL.get(letter, letter)
        if unicodedata.category(letter) not in ("Cc", "Cf", "Cs", "Co", "Cn")
        else "?"
        for letter in " ".join(text.split())
    )
    return "".join(escaped)


def _sentence(text: str) -> str:
    """A sentence of ours: what it quotes between backticks is set as code."""
    return "".join(
        f"\\texttt{{{escape(part)}}}" if is_code else _edges(part)
        for part, is_code in pieces(" ".join(text.split()))
    )


def _edges(part: str) -> str:
    """Text with the blanks around it, which part it from code."""
    inside = escape(raise_powers(part))
    return f"{' ' if part[:1] == ' ' else ''}{inside}{' ' if part[-1:] == ' ' and part.strip() else ''}"


def print_latex(report: Report, language: Language = "en") -> str:
    """Return a file that compiles; its tables, figure and sentences can be taken out one by one."""
    body = [f"\\section*{{{escape(say('report', language))}{colon(language)}{escape(report.title)}}}"]
    body += [line for author in report.authors for line in (escape(author.text()), "")]
    if report.embargo_until is not None:
        body += [escape(embargo_line(report.embargo_until, language)), ""]
    body += [line for mark in report.marks for line in (_sentence(mark.of(language)), "")]
    if report.arrival.en:
        body += [_sentence(report.arrival.of(language)), ""]
    for hypothesis in report.hypotheses:
        body += list(_lead(hypothesis, language))
    body += [_sentence(report.since_lock.of(language)), ""]
    body += [_sentence(f"{say('check_title', language)}{colon(language)}{check_line(report, language)}"), ""]
    body += list(_summary(report, language))
    body += list(_figure(language))
    for hypothesis in report.hypotheses:
        body += list(_write_hypothesis(hypothesis, language))
    arms = [f"{arm.id}{colon(language)}{arm.says}" for arm in report.arms]
    body += list(_list_lines("arms", arms, language))
    body += list(_list_lines("acknowledged", warning_lines(report, language), language))
    deviations = [
        f"{deviation.number}. {deviation.title}{colon(language)}{standing_line(deviation, language)}"
        for deviation in report.deviations
    ]
    body += list(_list_lines("deviations", deviations, language))
    closing = (
        f"{say('plan', language)} \\texttt{{{escape(report.preregistration_id)}}}{pause(language)}SHA-256 "
    )
    digits = [report.plan_sha256[at : at + _BREAK] for at in range(0, len(report.plan_sha256), _BREAK)]
    hash_ = "\\allowbreak{}".join(map(escape, digits))
    body += [closing + f"\\texttt{{\\small {hash_}}}.", "", "\\end{document}"]
    return PREAMBLE.replace("FONTS", fonts(language)) + "\n".join(body) + "\n"


def _lead(hypothesis: HypothesisReport, language: Language) -> Iterator[str]:
    """The headline, what was not shown, whether it is safe to ship, and what a next study needs."""
    line, rest, ship, known = (
        words.of(language)
        for words in (hypothesis.headline, hypothesis.open, hypothesis.ship, hypothesis.known)
    )
    yield f"\\noindent\\textbf{{{escape(hypothesis.id)}{colon(language)}{_sentence(line)}}}\\\\"
    sizes = hypothesis.next_sizes
    if sizes is None:
        yield from (_sentence(sentences((rest, ship, hypothesis.next.of(language), known), language)), "")
        return
    yield from (_sentence(sentences((rest, ship, sizes.lead.of(language)), language)), "")
    head, rows = sizes_table(sizes, language)
    columns = f"p{{0.36\\linewidth}}{'l' * (len(head) - 1)}"
    yield from _center(_rule_off(map(_sentence, head), (map(_sentence, row) for row in rows), columns))
    notes = (note.of(language) for note in sizes.notes)
    yield from (_sentence(sentences((*notes, known), language)), "")


def _summary(report: Report, language: Language) -> Iterator[str]:
    """One row per test of every hypothesis."""
    yield from ("\\begin{table}[ht]", "\\centering")
    head = ("", say("test", language), say("difference", language), say("interval", language), "p", "")
    rows = []
    for hypothesis in report.hypotheses:
        for at, (name, estimate, ends, _, p) in enumerate(rows_of_tests(hypothesis, language)):
            cells = (
                hypothesis.id if at == 0 else "",
                name,
                estimate,
                ends,
                p.removeprefix("p ").removeprefix("= "),
                outcome_of(hypothesis, language) if at == 0 else "",
            )
            rows.append(cells)
    yield from _table(head, rows, "llrlll")
    policy = _sentence(multiplicity_message(report.multiplicity).text(language))
    yield f"\\caption{{{sentences((escape(report.title) + stop(language), policy), language)}}}"
    yield from ("\\end{table}", "")


def _figure(language: Language) -> Iterator[str]:
    yield from ("\\begin{figure}[ht]", "\\centering")
    yield "\\IfFileExists{forest.pdf}{\\includegraphics[width=\\linewidth]{forest.pdf}}{}"
    yield f"\\caption{{{escape(say('figure', language))}{stop(language)}}}"
    yield from ("\\end{figure}", "")


def _write_hypothesis(hypothesis: HypothesisReport, language: Language) -> Iterator[str]:
    """Write the lines of one hypothesis in LaTeX, from its heading to its sentence."""
    outcome = escape(outcome_of(hypothesis, language))
    yield f"\\subsection*{{{escape(hypothesis.id)}{colon(language)}{outcome}}}"
    if hypothesis.arms:
        head, rows = statistics_table(hypothesis, language)
        yield from _center(_table(head, rows, f"l{'r' * (len(head) - 1)}"))
    for what, ends, how in interval_rows(hypothesis, language):
        made = in_parentheses(escape(how), language)
        yield f"{escape(what)}{colon(language)}{escape(ends)}{made}{stop(language)}\\\\"
    head, rows = tasks_table(hypothesis, language)
    if rows:
        yield from ("", f"\\paragraph{{{escape(say('tasks', language))}}}")
        yield from _center(_table(head, rows, "lrrrll"))
    if hypothesis.slices is not None:
        yield from ("", f"\\paragraph{{{escape(say('slices', language))}}}")
        head, rows = slices_table(hypothesis, language)
        if rows:
            yield from _center(_table(head, rows, "lrrllll"))
        yield _sentence(slices_line(hypothesis, language))
    yield ""
    yield _sentence(hypothesis.sentences.of(language))
    yield ""


def _list_lines(heading: str, lines: Sequence[str], language: Language) -> Iterator[str]:
    """A heading with a paragraph per line; nothing where there is no line."""
    if lines:
        yield f"\\subsection*{{{escape(say(heading, language))}}}"
        for line in lines:
            yield from (_sentence(line), "")


def _center(lines: Iterator[str]) -> Iterator[str]:
    yield "\\begin{center}"
    yield from lines
    yield from ("\\end{center}", "")


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], columns: str) -> Iterator[str]:
    """A table of anybody's texts, which are escaped."""
    escaped = ([escape(row[0]), *(escape(raise_powers(cell)) for cell in row[1:])] for row in rows)
    yield from _rule_off(map(escape, head), escaped, columns)


def _rule_off(head: Iterable[str], rows: Iterable[Iterable[str]], columns: str) -> Iterator[str]:
    """A table of LaTeX that is no wider than the text: a wider one is made smaller."""
    box = "\\resizebox{\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi}{!}"
    yield from (f"{box}{{\\begin{{tabular}}{{{columns}}}", "\\toprule")
    yield " & ".join(head) + " \\\\"
    yield "\\midrule"
    for row in rows:
        yield " & ".join(row) + " \\\\"
    yield from ("\\bottomrule", "\\end{tabular}}")
