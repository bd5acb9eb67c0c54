from __future__ import annotations

import json
from datetime import date
from typing import Annotated, Any, Literal

import pytest
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, TypeAdapter

from service.api.parsing.models import validate
from service.errors import InvalidData
from service.stats.shared.declaring import registry
from service.stats.shared.declaring.common import Margin


class Fixed(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")
    kind: Literal["fixed"]


class Grouped(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")
    kind: Literal["grouped"]
    looks: Annotated[int, Field(gt=1)]


class Everything(BaseModel):
    """One field of each kind."""

    model_config = ConfigDict(strict=True, extra="forbid")

    integer: Annotated[int, Field(ge=0, le=10)] = 0
    number: Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)] = 0.5
    flag: bool = True
    text: Annotated[str, Field(min_length=2, max_length=4, pattern="^[a-z]+$")] = "ab"
    choice: Literal["one", "two"] = "one"
    labels: list[str] | list[int] = []
    pairs: Annotated[tuple[int, ...], Field(max_length=2)] = ()
    day: date | None = None
    moment: AwareDatetime | None = None
    plan: Annotated[Fixed | Grouped, Field(discriminator="kind")] | None = None
    named: dict[str, Annotated[float, Field(gt=0)]] = {}


ADAPTER = TypeAdapter(Everything)


def faults_of(document: Any) -> dict[str, str]:
    with pytest.raises(InvalidData) as refused:
        validate(ADAPTER, json.dumps(document).encode())
    return {fault.path: fault.message for fault in refused.value.faults}


@pytest.mark.parametrize(
    ("document", "faults"),
    [
        ({"integer": 11}, {"integer": "must be at most 10"}),
        ({"integer": True}, {"integer": "must be an integer"}),
        ({"integer": "7"}, {"integer": "must be an integer"}),
        ({"integer": 1.5}, {"integer": "must be an integer"}),
        ({"number": 1}, {"number": "must be below 1"}),
        ({"number": True}, {"number": "must be a number"}),
        ({"flag": 1}, {"flag": "must be true or false"}),
        ({"text": "a"}, {"text": "must have at least 2 characters"}),
        ({"text": "QQ"}, {"text": "must match ^[a-z]+$"}),
        ({"text": None}, {"text": "must be a string"}),
        ({"choice": "three"}, {"choice": "must be one of 'one' or 'two'"}),
        ({"labels": [1, "x"]}, {"labels[0]": "must be a string", "labels[1]": "must be an integer"}),
        ({"labels": 5}, {"labels": "must be an array"}),
        ({"pairs": [1, 2, 3]}, {"pairs": "must have at most 2 entries"}),
        ({"day": "soon"}, {"day": "must be a date, such as 2027-02-01"}),
        ({"moment": 3}, {"moment": "must be a date and time with its offset, such as 2027-02-01T12:00:00Z"}),
        ({"plan": {"kind": "other"}}, {"plan": "must have 'kind' one of 'fixed', 'grouped'"}),
        ({"plan": {}}, {"plan": "must have 'kind'"}),
        ({"plan": {"kind": "grouped", "looks": 1}}, {"plan.looks": "must be above 1"}),
        ({"plan": {"kind": "grouped"}}, {"plan.looks": "is required"}),
        ({"plan": {"kind": "fixed", "more": 1}}, {"plan.more": "is not a field here"}),
        ({"named": {"a": 0}}, {"named.a": "must be above 0"}),
        ({"unknown": 1}, {"unknown": "is not a field here"}),
        ([], {"": "must be an object"}),
    ],
)
def test_every_fault_names_its_place_and_what_is_expected(document, faults):
    assert faults_of(document) == faults


def test_no_fault_repeats_what_was_sent():
    canary = "canary-0.123456"
    documents: list[Any] = [
        {name: value}
        for name in Everything.model_fields
        for value in (canary, [canary], {"kind": canary}, 987654321)
    ]
    for document in [*documents, canary, [canary], 987654321]:
        try:
            validate(ADAPTER, json.dumps(document).encode())
        except InvalidData as refused:
            told = refused.detail + "".join(f"{f.path}{f.message}{f.fix}" for f in refused.faults)
            assert canary not in told
            assert "987654321" not in told


def test_a_very_long_key_is_cut():
    (path,) = faults_of({"k" * 1000: 1})
    assert path == "k" * 64 + "..."


def test_thousands_of_faults_become_a_short_list():
    with pytest.raises(InvalidData) as refused:
        validate(TypeAdapter(list[bool]), json.dumps([5] * 3000).encode())
    assert len(refused.value.faults) == 20
    assert "2999 more faults" in refused.value.detail


def fixes_of(test: str, **changes: Any) -> dict[str, str]:
    found = registry.find(test)
    with pytest.raises(InvalidData) as refused:
        validate(TypeAdapter(found.request), json.dumps({**found.example, **changes}).encode())
    return {fault.path: fault.fix for fault in refused.value.faults}


def test_a_field_of_a_known_model_says_what_to_send():
    (fix,) = (fix for path, fix in fixes_of("equivalence", margin=0.05).items() if path == "margin")
    sent = json.loads(fix.removeprefix("send "))
    assert Margin.model_validate_json(json.dumps(sent))
    found = registry.find("equivalence")
    assert validate(TypeAdapter(found.request), json.dumps({**found.example, "margin": sent}).encode())


class Holder(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    margins: list[Margin] | None = None
    by_name: dict[str, Margin] = {}
    plan: Annotated[Fixed | Grouped, Field(discriminator="kind")] | None = None
    needed: Grouped


@pytest.mark.parametrize(
    ("document", "path", "fix"),
    [
        ({"margins": 2}, "margins", 'send [{"value": 2, "unit": "pp"}]'),
        ({"margins": [2]}, "margins[0]", 'send {"value": 2, "unit": "pp"}'),
        ({"by_name": {"a": 2}}, "by_name.a", 'send {"value": 2, "unit": "pp"}'),
        ({"margins": [{"value": 2, "unt": "pp"}]}, "margins[0].unt", "is 'unit' meant?"),
        ({}, "needed", 'add {"kind": ..., "looks": ...}'),
        ({"needed": {"kind": "grouped", "looks": 3}, "plan": {"kind": "grouped"}}, "plan.looks", "add it"),
        ({"quite_another": 1}, "quite_another", "remove it, or see /docs for the fields"),
    ],
)
def test_the_way_out_follows_from_the_model(document, path, fix):
    with pytest.raises(InvalidData) as refused:
        validate(TypeAdapter(Holder), json.dumps(document).encode())
    assert {fault.path: fault.fix for fault in refused.value.faults}[path] == fix


def test_a_field_that_another_test_takes_names_that_test():
    fix = fixes_of("mcnemar", clusters=["a"])["clusters"]
    assert fix == "send the request to 'clustered-mcnemar', which takes it"


@pytest.mark.parametrize("name", sorted(registry.latest()))
def test_what_is_said_to_belong_elsewhere_does(name):
    here = registry.find(name).request
    for field, test in here.elsewhere.items():
        assert field not in here.model_fields
        assert field in registry.find(test).request.model_fields
