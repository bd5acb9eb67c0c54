"""Answers of the service: dictionaries that show themselves as a table in a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any, NoReturn

from forelock.problem import AnswerLacks

MOST_ROWS, MOST_DEPTH = 50, 3


class Answer(dict[str, Any]):
    """A JSON object that the service answered. A member that is not there is a fault of whoever answered."""

    def __missing__(self, name: str) -> NoReturn:
        raise AnswerLacks(name)

    def _repr_html_(self) -> str:
        """HTML for notebooks; every text is escaped."""
        return html(self)


def html(answer: Mapping[str, Any]) -> str:
    """Return an answer as HTML: a verdict by its outcomes, anything else by its members.

    Example:
        `html({"n": 3})` is `<table><tr><th>n</th><td>3</td></tr></table>`.
    """
    hypotheses = answer.get("hypotheses")
    if isinstance(hypotheses, list) and all(
        isinstance(hypothesis, dict) and "outcome" in hypothesis for hypothesis in hypotheses
    ):
        title = answer.get("title") or answer.get("preregistration_id") or "Verdict"
        rows = [
            (
                hypothesis.get("id"),
                hypothesis["outcome"],
                clause.get("text"),
                clause.get("observed"),
                clause.get("holds"),
            )
            for hypothesis in hypotheses
            for clause in (hypothesis.get("clauses") or [{}])
        ]
        head = ("hypothesis", "outcome", "clause", "observed", "holds")
        return f"<p><strong>{_text(title)}</strong></p>{_columns(head, rows)}"
    return _members(answer, 0)


def _columns(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    top = "".join(f"<th>{_text(name)}</th>" for name in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{_format_value(cell, 1)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def _members(answer: Mapping[str, Any], depth: int) -> str:
    rows = "".join(
        f"<tr><th>{_text(name)}</th><td>{_format_value(value, depth + 1)}</td></tr>"
        for name, value in answer.items()
    )
    return f"<table>{rows}</table>"


def _format_value(value: Any, depth: int) -> str:
    """Format a value as HTML.

    Mappings and lists are opened down to `MOST_DEPTH`, and lists show `MOST_ROWS` elements.
    """
    if isinstance(value, Mapping) and value and depth < MOST_DEPTH:
        return _members(value, depth)
    if isinstance(value, list) and value and depth < MOST_DEPTH:
        items = "".join(f"<li>{_format_value(element, depth + 1)}</li>" for element in value[:MOST_ROWS])
        more = f"<li>and {len(value) - MOST_ROWS} more</li>" if len(value) > MOST_ROWS else ""
        return f"<ul>{items}{more}</ul>"
    if isinstance(value, float):
        return f"{value:.6g}"
    return "" if value is None else _text(value)


def _text(value: object) -> str:
    return escape(str(value))
