"""Hypothesis strategies: plans, rules and paired outcomes."""

from __future__ import annotations

import re
import string
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st

from service.domain.plans.strings import RESERVED
from service.domain.rules import rule
from service.domain.rules.truth import (
    Ends,
)

_LETTERS = string.ascii_letters
_WORD = st.builds(
    str.__add__, st.sampled_from(_LETTERS), st.text(_LETTERS + string.digits + "_", max_size=6)
) | st.sampled_from(["p_value", "ci", "order", "notes", "Andy", "pp2", "delta_"])


def names() -> st.SearchStrategy[str]:
    """Ids that a rule can refer to."""
    return _WORD.filter(lambda word: word.lower() not in RESERVED)


def tokens() -> st.SearchStrategy[str]:
    """Ids of populations, arms and endpoints."""
    return st.text(_LETTERS + string.digits + "_.-", min_size=1, max_size=12)


def lines() -> st.SearchStrategy[str]:
    """One line of any Unicode text without control characters."""
    alphabet = st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp"))
    return st.text(alphabet, min_size=1, max_size=40)


def quantities() -> st.SearchStrategy[rule.Quantity]:
    """Thresholds: exact decimals, with or without `pp`."""
    whole, places = st.integers(-(10**6), 10**6), st.integers(0, 6)
    digits = st.builds(lambda number, power: rule.decimal_text(f"{number}e-{power}"), whole, places)
    return st.builds(rule.Quantity, text=digits, unit=st.sampled_from(["pp", None]))


def field_names() -> st.SearchStrategy[rule.FieldName]:
    """`delta`, or a path into a named test."""
    path = st.lists(_WORD, min_size=1, max_size=3).filter(lambda words: words[-1] != "p").map(tuple)
    return st.just(rule.FieldName(path=("delta",))) | st.builds(rule.FieldName, test=names(), path=path)


@st.composite
def _within(draw: st.DrawFn) -> rule.Within:
    bounds = sorted(
        draw(st.lists(quantities(), min_size=2, max_size=2, unique_by=lambda each: each.exact())),
        key=lambda each: each.exact(),
    )
    return rule.Within(field=draw(field_names()), low=bounds[0], high=bounds[1], closed=draw(st.booleans()))


def clauses() -> st.SearchStrategy[rule.Rule]:
    """Atomic comparisons."""
    operators = st.sampled_from([">=", ">", "<=", "<", "==", "!="])
    return (
        st.builds(rule.Comparison, field=field_names(), operator=operators, value=quantities())
        | st.builds(rule.Excludes, field=field_names(), value=quantities())
        | st.builds(rule.Is, field=field_names(), value=st.booleans())
        | _within()
    )


def rules() -> st.SearchStrategy[rule.Rule]:
    """Whole rules: `all` never directly inside `all`, nor `any` inside `any`."""

    def grow(inner: st.SearchStrategy[rule.Rule]) -> st.SearchStrategy[rule.Rule]:
        def joined(node: type[rule.All] | type[rule.AnyOf]) -> st.SearchStrategy[rule.Rule]:
            parts = st.lists(inner.filter(lambda part: not isinstance(part, node)), min_size=2, max_size=3)
            return parts.map(lambda each: node(parts=tuple(each)))

        return joined(rule.All) | joined(rule.AnyOf) | st.builds(rule.Not, part=inner)

    return st.recursive(clauses(), grow, max_leaves=8)


def observed() -> st.SearchStrategy[Any]:
    """What a field may turn out to be: numbers, fractions, intervals with undefined ends, nothing."""
    floats = st.floats(-10, 10)
    return (
        st.none()
        | floats
        | st.integers(-5, 5)
        | st.booleans()
        | st.fractions(-2, 2, max_denominator=1000)
        | st.builds(Ends, low=st.none() | floats, high=st.none() | floats)
    )


@st.composite
def paired_binary(draw: st.DrawFn, max_items: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Two arms of 0 and 1 on the same items."""
    rows = draw(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=max_items))
    columns = np.asarray(rows, dtype=np.float64)
    return columns[:, 0], columns[:, 1]


@st.composite
def paired_scores(draw: st.DrawFn, max_items: int = 40) -> tuple[np.ndarray, np.ndarray]:
    """Two arms of scores on the same items, from tidy decimals to full doubles."""
    score = st.integers(-1000, 1000).map(lambda each: each / 1000) | st.floats(-1e6, 1e6)
    rows = draw(st.lists(st.tuples(score, score), min_size=1, max_size=max_items))
    columns = np.asarray(rows, dtype=np.float64)
    return columns[:, 0], columns[:, 1]


@st.composite
def plans(draw: st.DrawFn) -> dict[str, Any]:
    """Whole plans as JSON whose names resolve, with one McNemar rule per hypothesis that asks for its claim."""
    population_ids = draw(st.lists(tokens(), min_size=1, max_size=2, unique=True))
    arms = draw(st.lists(tokens(), min_size=2, max_size=3, unique=True))
    endpoint = draw(tokens())
    test = draw(names())
    hypothesis_ids = draw(st.lists(names(), min_size=1, max_size=3, unique=True))
    margin = draw(st.integers(1, 50))
    asked = {
        "superiority": f"delta >= {margin} pp and {test}.p_value < 0.05 and {test}.ci excludes 0",
        "non_inferiority": f"{test}.ci.low > -{margin} pp",
        "equivalence": f"{test}.ci.low > -{margin} pp and {test}.ci.high < {margin} pp",
    }
    return {
        "title": draw(lines()),
        "populations": [
            {
                "id": each,
                "dataset": draw(lines()),
                "n": draw(st.integers(6, 40)),
                "independence": "drawn alone",
            }
            for each in population_ids
        ],
        "hypotheses": [
            {
                "id": each,
                "claim": (claim := draw(st.sampled_from(sorted(asked)))),
                "statement": f"differs by at least {margin} pp",
                "population": draw(st.sampled_from(population_ids)),
                "baseline": arms[0],
                "candidate": draw(st.sampled_from(arms[1:])),
                "endpoint": endpoint,
                "rule": asked[claim],
            }
            for each in hypothesis_ids
        ],
        "endpoints": [{"id": endpoint, "kind": "binary", "role": "primary"}],
        "tests": [{"id": test, "test": "mcnemar", "version": 1, "parameters": {"method": "exact"}}],
        "sesoi": {endpoint: {"value": margin, "unit": "pp"}},
        "thresholds": [],
        "stopping": {"kind": "fixed_n"},
        "missing": draw(st.sampled_from(["fail", "exclude_pair"])),
        "multiplicity": {"policy": "none", "family": hypothesis_ids},
    }


def exact_mean_difference(baseline: np.ndarray, candidate: np.ndarray) -> Fraction:
    """The difference of the means of the printed decimals, by the definition."""
    return sum(
        (
            Fraction(repr(float(after))) - Fraction(repr(float(before)))
            for before, after in zip(baseline, candidate, strict=True)
        ),
        Fraction(0),
    ) / len(baseline)


def spaced_out(text: str, pads: list[str]) -> str:
    """The same sentence with other white space and capital words."""
    words = re.split(r"( |(?<=[\[(,])|(?=[\])]))", text)
    padded = (pads[i % len(pads)] if word == " " else word for i, word in enumerate(words) if word)
    keywords = re.compile(r"(?<![A-Za-z0-9_.])(and|or|not|excludes|within|is|true|false)(?![A-Za-z0-9_.])")
    return keywords.sub(lambda match: match.group().upper(), "".join(padded))
