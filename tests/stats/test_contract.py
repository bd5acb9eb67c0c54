"""What every statistical test owes, over the whole register."""

from __future__ import annotations

import inspect
import json
import math
import re
from typing import get_args

import pytest
from pydantic import BaseModel

from service.errors import NotFound
from service.records import Record
from service.stats.shared.declaring import registry, warnings
from service.stats.shared.declaring.common import Analysis, Request
from service.stats.shared.declaring.registry import SECTIONS, Answer
from tests.stats.soundness import sound

TESTS = [pytest.param(test, id=f"{test.name}-{test.version}") for test in registry.every()]
each = pytest.mark.parametrize("test", TESTS)


def answer_of(test, body):
    return test.answer(test.request.model_validate_json(json.dumps(body)))


def models(model, seen=None):
    """A model and every model below its fields."""
    seen = {} if seen is None else seen
    if model in seen:
        return seen
    seen[model] = None
    for field in model.model_fields.values():
        for inner in () if field.exclude else parts(field.annotation):
            models(inner, seen)
    return seen


def parts(annotation):
    if inspect.isclass(annotation) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from parts(argument)


@each
def test_example_runs_and_is_sound(test):
    answer = sound(answer_of(test, dict(test.example)))
    assert isinstance(answer.analysis, test.analysis)
    assert (answer.test, answer.version) == (test.name, test.version)


@each
def test_same_input_gives_the_same_bytes(test):
    first, second = (answer_of(test, dict(test.example)).model_dump_json() for _ in range(2))
    assert first == second


@each
def test_answer_survives_json(test):
    answer = answer_of(test, dict(test.example))
    text = answer.model_dump_json()
    assert Answer[test.analysis].model_validate_json(text).model_dump_json() == text


@each
def test_request_survives_json(test):
    request = test.request.model_validate_json(json.dumps(test.example))
    again = test.request.model_validate_json(request.model_dump_json(exclude_none=True))
    assert again.model_dump() == request.model_dump()  # arrays that are kept are no part of what was sent
    assert registry.fingerprint(again) == registry.fingerprint(request)


@each
def test_every_field_is_described(test):
    bare = [
        f"{model.__name__}.{name}"
        for root in (test.request, test.analysis)
        for model in models(root)
        for name, field in model.model_fields.items()
        if not field.exclude and not (field.description or "").strip()
    ]
    assert not bare, f"without a description: {', '.join(bare)}"


@each
def test_models_are_closed_and_described(test):
    for model in (*models(test.request), *models(test.analysis)):
        assert model.model_config.get("extra") == "forbid", model
        assert model.model_config.get("frozen"), model
        assert inspect.getdoc(model), model
    assert issubclass(test.request, Request)
    assert issubclass(test.analysis, Analysis)
    assert test.request.model_config.get("strict")


@each
def test_docstring_has_its_sections_in_order(test):
    words = test.words
    places = [re.search(rf"^{name}:$", words, re.MULTILINE) for name in SECTIONS]
    assert all(places), [name for name, place in zip(SECTIONS, places, strict=True) if place is None]
    starts = [place.start() for place in places]
    assert starts == sorted(starts)
    assert all(test.section(name) for name in SECTIONS)
    opening = words[: starts[0]].strip()
    summary, _, model = opening.partition("\n\n")
    assert summary.endswith((".", "?"))
    assert "\n" not in summary
    assert model.strip(), "the model and H0 are missing"
    assert re.search(r"\(\d{4}\)", test.section("Sources")), "a source has a year"


@each
def test_name_version_and_title(test):
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", test.name)
    assert test.version >= 1
    assert test.title
    assert not test.title.endswith(".")


@each
def test_cost_is_a_positive_number_of_seconds(test):
    cost = test.cost(test.request.model_validate_json(json.dumps(test.example)))
    assert 0 < cost < 60
    assert math.isfinite(cost)


@each
def test_unknown_fields_are_refused(test):
    with pytest.raises(ValueError, match="extra"):
        test.request.model_validate_json(json.dumps({**test.example, "colour": "red"}))


@each
def test_plan_use_names_columns_the_request_has(test):
    if test.plan is not None:
        columns = {"values"} if test.plan.arms == 1 else {"baseline", "candidate"}
        assert columns <= set(test.request.model_fields)
        assert test.plan.endpoints
        if test.plan.clusters != "never":
            assert "clusters" in test.request.model_fields


def test_warnings_have_a_code_a_sentence_and_a_severity():
    for code, kind in warnings.kinds().items():
        assert re.fullmatch(r"[A-Z][A-Z0-9_]+", code)
        assert kind.message.endswith(".")
        assert kind.severity in ("info", "caution", "serious")


def test_unknown_names_are_not_found_and_list_the_tests():
    with pytest.raises(NotFound, match="mcnemar"):
        registry.find("no-such-test")
    with pytest.raises(NotFound):
        registry.find("mcnemar", 99)


def test_a_name_and_version_is_registered_once():
    with pytest.raises(ValueError, match="twice"):

        @registry.stat_test(name="mcnemar", version=1, title="Again", asked="pairs", example={})
        def again(request: Request) -> Analysis:
            raise AssertionError


def test_a_warning_code_is_defined_once():
    code = next(iter(warnings.kinds()))
    with pytest.raises(ValueError, match="twice"):
        warnings.define(code, "info")


def test_fingerprint_tells_columns_and_options_apart():
    test = registry.find("mcnemar")

    def fingerprint(**body):
        return registry.fingerprint(test.request.model_validate_json(json.dumps(body)))

    base = {"baseline": [1, 0], "candidate": [0, 1]}
    prints = [
        fingerprint(**base),
        fingerprint(baseline=[0, 1], candidate=[1, 0]),
        fingerprint(**base, method="midp"),
        fingerprint(baseline=[1, 0, 0], candidate=[0, 1, 0]),
    ]
    assert len(set(prints)) == len(prints)
    assert fingerprint(**base) == prints[0]


def test_parts_are_models():
    assert set(parts(dict[str, Record | None])) == {Record}
