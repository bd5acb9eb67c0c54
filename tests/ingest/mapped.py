"""Mappings for files of a test's own."""

from __future__ import annotations

import json

from tests.ingest.truth import mapping_of

FIELDS = {
    "inspect": {"scorer": "match"},
    "lm_eval": {"metric": "acc", "filter": "none"},
    "swe_bench": {},
    "swe_bench_experiments": {},
    "csv": {},
    "ndjson": {},
    "parquet": {},
}


def mapping_for(form, **more):
    return mapping_of(format=form, **FIELDS.get(form, {"metric": "score"}), **more)


def header(n=1):
    ids = [f"i{k}" for k in range(n)]
    return json.dumps(
        {"status": "success", "eval": {"dataset": {"sample_ids": ids}, "config": {"epochs": 1}}}
    )
