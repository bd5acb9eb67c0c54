"""Verdicts that were stored before a field was added: their bytes, their hash and their words stay."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from service.domain.canonical import canonical
from service.domain.notes.notes import sentences
from service.domain.plans.plan import Plan
from service.domain.verdicts.records import Verdict

STORED: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "data" / "earlier_verdicts.json").read_text("utf-8")
)


@pytest.mark.parametrize("stored", STORED)
def test_an_earlier_verdict_is_told_as_it_was_stored(stored: dict[str, Any]) -> None:
    verdict = Verdict.model_validate_json(stored["verdict"])
    assert canonical(verdict.model_dump(mode="json")).decode() == stored["verdict"]
    assert verdict.sha256() == stored["sha256"]


@pytest.mark.parametrize("stored", STORED)
def test_an_earlier_verdict_is_worded(stored: dict[str, Any]) -> None:
    verdict = Verdict.model_validate_json(stored["verdict"])
    for found, judged in zip(
        sentences(Plan.from_dict(stored["plan"]), verdict, {}), verdict.hypotheses, strict=True
    ):
        assert found.sentences.en == judged.sentence
        assert judged.id in found.sentences.zh
