"""The report of a verdict for a paper: a booktabs table, a figure and the sentence, to be pasted or compiled.

Every text of others is escaped; what LaTeX cannot carry becomes a question mark. XeLaTeX or LuaLaTeX for Chinese.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from service.reports.prereg.labels import Language
from service.reports.verdict.content import HypothesisReport, Report
from service.reports.verdict.words import (
    interval_rows,
    outcome_word,
    p_of,
    say,
    span,
    statistics_table,
    value,
)

_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}", "`": r"\textasciigrave{}", "'": r"\textquotesingle{}",
    "−": r"\ensuremath{-}", "∞": r"\ensuremath{\infty}", "–": "--", "±": r"\ensuremath{\pm}", "[": "{[}", "]": "{]}",
}  # fmt: skip
PREAMBLE = r"""% Compile with XeLaTeX or LuaLaTeX. The figure is charts/forest.pdf of the same record.
\documentclass{article}
\usepackage{booktabs}
\usepackage{graphicx}
\usepackage{textcomp}
\usepackage{iftex}
\ifPDFTeX\usepackage[T1]{fontenc}\fi
\ifXeTeX\usepackage{xeCJK}\fi
\ifLuaTeX\usepackage{luatexja}\fi
\begin{document}
"""


def escape(text: str) -> str:
    r"""Text as LaTeX that prints it: no command, no argument, no comment, no ligature of it is left.

    Example:
        `100% \input{x}` becomes `100\% \textbackslash{}input\{x\}`.
    """
    shown = (
        _SPECIAL.get(each, each) if unicodedata.category(each) not in ("Cc", "Cf", "Cs", "Co", "Cn") else "?"
        for each in " ".join(text.split())
    )
    return "".join(shown)


def print_latex(report: Report, language: Language = "en") -> str:
    """A file that compiles; its tables, figure and sentences can be taken out one by one."""
    body = [f"\\section*{{{escape(say('report', language))}: {escape(report.title)}}}"]
    body += [line for mark in report.marks for line in (escape(mark.zh if language == "zh" else mark.en), "")]
    body += list(_summary(report, language))
    body += list(_figure(language))
    for each in report.hypotheses:
        body += list(_hypothesis(each, language))
    said = f"{say('plan', language)} \\texttt{{{escape(report.preregistration_id)}}}, SHA-256 "
    body += [said + f"\\texttt{{\\small {escape(report.plan_sha256)}}}.", "", "\\end{document}"]
    return PREAMBLE + "\n".join(body) + "\n"


def _summary(report: Report, language: Language) -> Iterator[str]:
    """One row per test of every hypothesis."""
    yield from ("\\begin{table}[ht]", "\\centering", "\\begin{tabular}{llrlll}", "\\toprule")
    head = ("", say("test", language), say("difference", language), say("interval", language), "p", "")
    yield " & ".join(map(escape, head)) + " \\\\"
    yield "\\midrule"
    for each in report.hypotheses:
        for at, test in enumerate(each.tests):
            cells = (
                each.id if at == 0 else "",
                test.id,
                value(test.delta, binary=each.binary, signed=True),
                "" if test.ci is None else span(test.ci.low, test.ci.high, binary=each.binary),
                p_of(test).removeprefix("p ").removeprefix("= "),
                outcome_word(each.outcome, language) if at == 0 else "",
            )
            yield " & ".join(map(escape, cells)) + " \\\\"
    yield from ("\\bottomrule", "\\end{tabular}")
    yield f"\\caption{{{escape(report.title)}. {escape(report.multiplicity)}}}"
    yield from ("\\end{table}", "")


def _figure(language: Language) -> Iterator[str]:
    yield from ("\\begin{figure}[ht]", "\\centering")
    yield "\\IfFileExists{forest.pdf}{\\includegraphics[width=\\linewidth]{forest.pdf}}{}"
    yield f"\\caption{{{escape(say('figure', language))}.}}"
    yield from ("\\end{figure}", "")


def _hypothesis(each: HypothesisReport, language: Language) -> Iterator[str]:
    yield f"\\subsection*{{{escape(each.id)}: {escape(outcome_word(each.outcome, language))}}}"
    if each.arms:
        head, rows = statistics_table(each, language)
        yield from ("\\begin{center}", f"\\begin{{tabular}}{{l{'r' * (len(head) - 1)}}}", "\\toprule")
        yield " & ".join(map(escape, head)) + " \\\\"
        yield "\\midrule"
        for row in rows:
            yield " & ".join(map(escape, row)) + " \\\\"
        yield from ("\\bottomrule", "\\end{tabular}", "\\end{center}", "")
    for what, ends, how in interval_rows(each):
        yield f"{escape(what)}: {escape(ends)} ({escape(how)}).\\\\"
    yield ""
    yield escape(each.sentences.zh if language == "zh" else each.sentences.en)
    yield ""
