"""Mappings for files of a test's own."""

from __future__ import annotations

import json

from service.domain.plans.importing.imports import FORMATS
from tests.ingest.truth import mapping_of

NAMES = {"scorer": "match", "metric": "score", "filter": "none"}
"""What a mapping has to name, and what the files of these tests call it."""
OTHERWISE = {"lm_eval": {"metric": "acc"}}


def mapping_for(form, **more):
    named = {name: NAMES[name] for name in FORMATS[form].NEEDS}
    return mapping_of(format=form, **{**named, **OTHERWISE.get(form, {}), **more})


def header(n=1):
    ids = [f"i{k}" for k in range(n)]
    return json.dumps(
        {"status": "success", "eval": {"dataset": {"sample_ids": ids}, "config": {"epochs": 1}}}
    )
