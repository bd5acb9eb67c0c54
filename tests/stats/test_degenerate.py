"""Data that nobody should send, to every registered test and every option it has, over HTTP.

Whatever comes is answered with a sound analysis (see `soundness`) or a problem that names the field;
never with a 500, a NaN, a p-value of 0. The bodies are declared beside the tests of each.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import Literal, get_args, get_origin

import pytest
from hypothesis import settings
from pydantic import ValidationError

from service.api.routes.calculations.stats import AT_ONCE_SECONDS
from service.errors import InvalidData
from service.stats.shared.declaring import registry
from tests.stats.cases import cases_of
from tests.stats.soundness import sound


def choices(request):
    """One option at a time away from its default: every value of every field that is a choice."""
    yield {}
    for name, field in request.model_fields.items():
        for inner in (field.annotation, *get_args(field.annotation)):
            if get_origin(inner) is Literal and name not in ("test", "unit"):
                yield from ({name: value} for value in get_args(inner) if value != field.default)


OPTIONS = [
    pytest.param(
        test,
        option,
        number,
        id="-".join([test.name, *map(str, option.values())]),
        marks=pytest.mark.slow if number % 4 else (),
    )
    for test in registry.latest().values()
    for number, option in enumerate(choices(test.request))
]


def cost_of(test, sent):
    """Seconds it says it takes; 0 for what is refused anyway."""
    try:
        return test.cost(test.request.model_validate_json(sent))
    except (InvalidData, ValidationError):
        return 0.0


@pytest.mark.parametrize(("test", "option", "number"), OPTIONS)
def test_degenerate_data_are_answered_or_refused(http, test, option, number):
    """Bodies as they are, every second in a build; each other option of a test sees every eighteenth.

    They are not the ones its neighbours see. All but every fourth option are slow.
    """
    answered, step = 0, 1 if settings.get_current_profile_name() == "search" else 2
    bodies = list(cases_of(test.name).degenerate())
    for body in bodies[number % 18 :: 18] if option else bodies[::step]:
        sent = json.dumps({**body, **option})
        if cost_of(test, sent) >= AT_ONCE_SECONDS:  # over HTTP a job: what it would compute
            with suppress(InvalidData):
                sound(test.answer(test.request.model_validate_json(sent)))
            continue
        response = http.post(
            f"/v1/tests/{test.name}", content=sent, headers={"Content-Type": "application/json"}
        )
        if response.status_code == 200:
            answered += 1
            sound(registry.Answer[test.analysis].model_validate_json(response.content))
        else:
            said = response.json()
            assert response.status_code == 422, (response.status_code, said, sent[:300])
            assert said["detail"], sent[:300]
            # overflow is an answer to values whose squares leave the floats, and to nothing else
            assert said["code"] != "not_computable" or re.search(r"\de[+-]?\d{3}", sent), sent[:300]
    assert answered or option, "all bodies were refused: the sweep tests nothing"
