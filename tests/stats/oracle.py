"""Cases with answers from other software and from published tables, in `oracles/`; and a way to ask a test by name.

A case has an input, what is expected of it, a tolerance and its source. A is the baseline, B the candidate, n10 counts
items that A alone has right, n01 items that B alone has right. `oracles/tables/` holds grades and counts of real
evaluations by item: figures alone, without the texts, whose licences do not let them be passed on.
"""

from __future__ import annotations

import json
import math
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest

from service.stats.shared.declaring import registry
from tests.stats.shapes import table_of

OWN = Path(__file__).parent / "oracles"


@cache
def family(name):
    """The cases of a family."""
    return own(name)["cases"]


def cases(name, slow=lambda _case: False):
    """Cases of a family as pytest parameters; those that say so are slow."""
    return [
        pytest.param(case, id=case["id"], marks=[pytest.mark.slow] if slow(case) else [])
        for case in family(name)
    ]


def named(name, *prefixes):
    """Cases of a family whose ids begin so."""
    found = [case for case in family(name) if case["id"].startswith(prefixes)]
    assert found
    return found


def own(name):
    """A file of `oracles/`."""
    return json.loads((OWN / f"{name}.json").read_text("utf-8"))


@cache
def table(name):
    """Rows of a table: labels are kept as runs, grades as a string of digits, numbers as they are."""
    data = own(f"tables/{name}")
    found = {
        **{key: [x for x, n in runs for _ in range(n)] for key, runs in data.get("labels", {}).items()},
        **{key: [int(digit) for digit in digits] for key, digits in data.get("grades", {}).items()},
        **data.get("numbers", {}),
    }
    assert {len(column) for column in found.values()} == {data["rows"]}
    return [dict(zip(found, row, strict=True)) for row in zip(*found.values(), strict=True)]


def columns(data, *, clusters=True):
    """baseline, candidate and clusters of a case's input."""
    rows = [
        row
        for row in table(data["file"])
        if all(row[name] == value for name, value in data.get("filter", {}).items())
    ]
    body = {
        "baseline": [float(row[data["A"]]) for row in rows],
        "candidate": [float(row[data["B"]]) for row in rows],
    }
    return {**body, "clusters": [row[data["cluster"]] for row in rows]} if clusters else body


def corpus(data):
    """The body of a metric of a corpus: counts of n-grams for BLEU, of tokens for F1."""
    rows = table(data["file"])

    def column(name):
        return [row[name] for row in rows]

    def arm(name):
        if "BLEU" in data["metric"]:
            sizes = column(f"{name}_sys_len")
            return {
                "matches": [[row[f"{name}_c{k}"] for k in range(1, 5)] for row in rows],
                "totals": [[max(size - k + 1, 0) for k in range(1, 5)] for size in sizes],
                "sys_len": sizes,
                "ref_len": column("ref_len"),
            }
        common, said, gold = column(f"{name}_common"), column(f"{name}_pred"), column("gold")
        return {
            "tp": common,
            "fp": [p - c for p, c in zip(said, common, strict=True)],
            "fn": [g - c for g, c in zip(gold, common, strict=True)],
        }

    metric = "bleu" if "BLEU" in data["metric"] else "f1"
    return {"baseline": arm(data["A"]), "candidate": arm(data["B"]), "metric": metric}


def fourfold(data):
    """The four counts of a case's input."""
    return table_of(data["n11"], data["n10"], data["n01"], data["n00"])


def ask(name, body, **options):
    """The answer of a statistical test to a body, through JSON as a caller sends it."""
    test = registry.find(name)
    return test.answer(test.request.model_validate_json(json.dumps({**body, **options})))


def analyse(name, body, **options):
    """The analysis alone."""
    return ask(name, body, **options).analysis


def codes(answer):
    """Codes of an answer's warnings."""
    return {warning.code for warning in answer.warnings}


def close(actual, expected, *, rel=1e-6, abs=1e-10):
    """Equal to the tolerance, lists element by element."""
    if isinstance(expected, list):
        return all(close(a, e, rel=rel, abs=abs) for a, e in zip(actual, expected, strict=True))
    return math.isclose(actual, expected, rel_tol=rel, abs_tol=abs)


def tolerance(case, field):
    """The case's numeric tolerance of a field."""
    rules = case["tolerance"]
    for pattern, rule in rules.items():
        if pattern != "default" and fnmatch(field, pattern) and isinstance(rule, dict):
            return {key: value for key, value in rule.items() if isinstance(value, float)}
    return {key: value for key, value in rules.get("default", {}).items() if isinstance(value, float)}
