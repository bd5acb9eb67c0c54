"""Cases with answers from other software, kept beside the checkout; and a way to ask a test by name."""

from __future__ import annotations

import csv
import json
import math
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest

from service.stats import registry

ROOT = Path(__file__).parents[3] / "shared" / "oracle"
needs_oracle = pytest.mark.skipif(
    not (ROOT / "cases.json").exists(), reason="no ../shared/oracle beside the checkout"
)
OWN = Path(__file__).parent / "oracles"


def cases(family):
    """Cases of a family as pytest parameters; none where the files are absent."""
    path = ROOT / "cases.json"
    if not path.exists():
        return [pytest.param(None, id="absent", marks=needs_oracle)]
    found = [case for case in json.loads(path.read_text("utf-8"))["cases"] if case["family"] == family]
    assert found
    return [pytest.param(case, id=case["id"]) for case in found]


def own(name):
    """Published numbers kept in the repository, with their source."""
    return json.loads((OWN / f"{name}.json").read_text("utf-8"))


@cache
def table(file):
    """Rows of a data file."""
    with (ROOT / file).open(encoding="utf-8") as handle:
        return list(csv.DictReader(handle))


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


def fourfold(data):
    """The four counts of a case's input."""
    return {
        "both_correct": data["n11"],
        "only_baseline": data["n10"],
        "only_candidate": data["n01"],
        "both_wrong": data["n00"],
    }


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
