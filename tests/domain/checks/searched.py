"""Worlds and plans that a search for claims goes through."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from service.domain.rules.fields import choices, shape_of
from service.stats.shared.declaring import registry
from service.stats.shared.declaring.shows import Covers, Finding, Nothing, PValue, Share
from tests.stats.cases import declared

N = 24


ALTERNATIVE = st.sampled_from(["two-sided", "greater", "less"])


VARIED = {name: cases.varied for name, cases in declared().items() if cases.varied is not None}
"""Every test a plan may use, with parameters worth varying."""


WORLDS = ["binary", "continuous", "clustered", "looks"]


def fits(name: str, world: str) -> bool:
    plan = registry.find(name).plan
    assert plan is not None
    if plan.positive or plan.takes != "values":
        return (
            False  # amounts, and runs of items, have plans of their own: tests/domain/rules/test_endpoints.py
        )
    if world == "looks":
        return name == "sequential"
    if world == "clustered":
        return plan.clusters != "never"
    return world in plan.endpoints and plan.clusters != "required" and name != "sequential"


@st.composite
def uses(draw, world):
    name = draw(st.sampled_from([each for each in VARIED if fits(each, world)]))
    parameters: dict[str, Any] = {key: draw(st.sampled_from(of)) for key, of in VARIED[name].items()}
    request = registry.find(name).request.model_fields
    if "alternative" in request and parameters.get("method") != "confidence_sequence":
        parameters["alternative"] = draw(ALTERNATIVE)
    if name == "equivalence" and world in ("continuous", "clustered"):
        parameters["method"] = "t"
    if world == "clustered" and name == "equivalence":
        parameters.pop("method")
    return {"test": name, "version": 1, "parameters": parameters}


@st.composite
def clauses(draw, tests, unit):
    if draw(st.integers(0, 3)) == 0:
        return f"delta {draw(OPERATORS)} {draw(st.integers(-3, 3))}{unit}"
    use = draw(st.sampled_from(tests))
    model = registry.find(use["test"]).analysis
    path = draw(
        st.sampled_from(
            [each for each in choices(model) if shape_of(model, tuple(each.split("."))) != "count"]
        )
    )
    shape, field = shape_of(model, tuple(path.split("."))), f"{use['id']}.{path}"
    size = f"{draw(st.integers(-3, 3))}{unit if path == 'ci' else ''}"
    match shape:
        case "truth":
            return f"{field} is {draw(st.sampled_from(['true', 'false']))}"
        case "interval":
            low, high = sorted(draw(st.lists(st.integers(-3, 3), min_size=2, max_size=2, unique=True)))
            mark = unit if path == "ci" else ""
            return draw(
                st.sampled_from(
                    [
                        f"{field} excludes {size}",
                        f"{field} within [{low}{mark}, {high}{mark}]",
                        f"{field}.low {draw(OPERATORS)} {size}",
                        f"{field}.high {draw(OPERATORS)} {size}",
                    ]
                )
            )
        case _ if path.startswith(("p_", "fraction")):
            return f"{field} {draw(OPERATORS)} {draw(st.sampled_from(['0.05', '0.2', '0.5', '0.8', '0.95']))}"
        case _:
            return f"{field} {draw(OPERATORS)} {draw(st.integers(-2, 2))}{unit if path == 'delta' else ''}"


@st.composite
def telling(draw, tests, unit):
    """A clause of the kind that people write to show something."""
    use = draw(st.sampled_from(tests))
    test = registry.find(use["test"])
    fields = {path: meaning for path, meaning in test.plan.shows.items() if "*" not in path}
    paths = [path for path, meaning in fields.items() if not isinstance(meaning, Nothing)]
    path = draw(st.sampled_from([*paths, *(each for each in paths if each.startswith("p_"))]))
    match fields[path]:
        case PValue():
            clause = (
                f"{path} {draw(st.sampled_from(['<', '<=']))} {draw(st.sampled_from(['0.05', '0.2', '0.5']))}"
            )
        case Share():
            clause = f"{path} {draw(st.sampled_from(['< 0.05', '< 0.2', '> 0.8', '> 0.95']))}"
        case Covers():
            mark, size = unit if path == "ci" else "", draw(st.integers(-2, 2))
            ends = st.sampled_from([" excludes", ".low >", ".low >=", ".high <", ".high <="])
            clause = f"{path}{draw(ends)} {size}{mark}"
        case Finding():
            clause = f"{path} is true"
        case _:
            clause = f"{path} {draw(st.sampled_from(['>', '>=', '<', '<=']))} 0"
    also = draw(st.sampled_from(["", "", " and delta >= 0", " and delta <= 0"]))
    return f"{use['id']}.{clause}{also}"


OPERATORS = st.sampled_from([">", ">=", "<", "<=", "==", "!="])


def rules(tests, unit):
    return st.recursive(
        clauses(tests, unit),
        lambda inner: (
            st.builds(lambda a, b: f"({a} and {b})", inner, inner)
            | st.builds(lambda a, b: f"({a} or {b})", inner, inner)
            | st.builds(lambda a: f"not ({a})", inner)
        ),
        max_leaves=4,
    )


def pairs(tests, unit):
    one = telling(tests, unit)
    return one | st.builds(lambda a, word, b: f"({a}) {word} ({b})", one, st.sampled_from(["and", "or"]), one)


WAYS = {"any": rules, "telling": pairs}


@st.composite
def plans(draw, world, way):
    tests = [{"id": f"t{index}", **draw(uses(world))} for index in range(draw(st.integers(1, 2)))]
    binary = world != "continuous"
    changes: dict[str, Any] = {
        "populations.0.n": N,
        "tests": tests,
        "hypotheses.0.claim": draw(
            st.sampled_from(
                ["superiority", "superiority", "minimum_effect", "non_inferiority", "equivalence"]
            )
        ),
        "hypotheses.0.statement": "C2 and C1 compare",
        "hypotheses.0.rule": draw(WAYS[way](tests, " pp" if binary else "")),
        "endpoints.0.better": draw(st.sampled_from(["higher", "lower"])),
    }
    if not binary:
        changes |= {"endpoints.0.kind": "continuous", "sesoi": {"accuracy": {"value": 2, "unit": "score"}}}
    if world == "clustered":
        changes |= {"populations.0.independence": None, "populations.0.clusters": {"key": "c", "n": 8}}
    if world == "looks":
        changes |= {"populations.0.order_seed": 7, "missing": "fail", "stopping": {"kind": "anytime_valid"}}
        if any(each["parameters"]["method"] == "group_sequential" for each in tests):
            changes["stopping"] = {"kind": "group_sequential", "looks": 2}
            changes["tests"] = [
                each | {"parameters": each["parameters"] | {"method": "group_sequential"}} for each in tests
            ]
    return changes
