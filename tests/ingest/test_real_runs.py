"""Runs on SWE-bench Verified as logs of two harnesses: what is imported agrees with what the harnesses computed.

The logs are written here from the grades alone; accuracy, standard error, discordant pairs and p are those that
Inspect and lm-evaluation-harness, and R, gave for the logs they wrote of the same runs.
"""

from __future__ import annotations

import json
import math
import zipfile

import numpy as np
import pytest

from tests.ingest.truth import mapping_of, read
from tests.stats.oracle import analyse, table

ROWS = table("swebench_grades")


def item_id(place):
    return f"instance-{place:03d}"


def inspect_log(path, model):
    """As Inspect lays out a finished log: a sample a member, in an archive."""
    samples = [
        {
            "id": item_id(place),
            "epoch": 1,
            "input": "",
            "target": "",
            "messages": [],
            "scores": {"resolved": {"value": "C" if row[f"{model}_resolved"] else "I"}},
            "metadata": {"repo": row["repo"]},
        }
        for place, row in enumerate(ROWS)
    ]
    head = {
        "version": 2,
        "status": "success",
        "eval": {
            "eval_id": "e", "run_id": "r", "created": "2026-01-01T00:00:00+00:00", "task": "swe", "task_id": "t",
            "task_version": 0, "task_args": {}, "model": model, "config": {"epochs": 1},
            "dataset": {"samples": len(ROWS), "sample_ids": [each["id"] for each in samples]},
        },
        "plan": {},
        "results": {"total_samples": len(ROWS), "completed_samples": len(ROWS), "scores": []},
        "stats": {},
    }  # fmt: skip
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("_journal/start.json", json.dumps(head))
        for sample in samples:
            archive.writestr(f"samples/{sample['id']}_epoch_1.json", json.dumps(sample))
        archive.writestr("header.json", json.dumps(head))
    return path


def lm_eval_samples(path, model):
    """As lm-evaluation-harness writes samples: a line an item."""
    with path.open("w", encoding="utf-8") as lines:
        for place, row in enumerate(ROWS):
            line = {
                "doc_id": place,
                "doc": {"instance_id": item_id(place), "repo": row["repo"]},
                "target": "resolved",
                "filter": "none",
                "metrics": ["exact_match"],
                "doc_hash": f"{place:064x}",
                "exact_match": float(row[f"{model}_resolved"]),
            }
            lines.write(json.dumps(line) + "\n")
    return path


def imported(paths, mapping, key):
    """Values and clusters of both arms, by item."""
    arms = []
    for arm, path in zip(("baseline", "candidate"), paths, strict=True):
        found = read([path], mapping, key, arm=arm)
        rows = {
            each: (value, cluster)
            for part in found.rows
            for each, value, status, cluster in zip(
                part.item_ids, part.values, part.statuses, part.clusters, strict=True
            )
            if not status
        }
        arms.append(rows)
    before, after = arms
    assert before.keys() == after.keys()
    values = [[each[name][0] for name in before] for each in arms]
    return np.array(values), [before[name][1] for name in before], [after[name][1] for name in before]


@pytest.mark.parametrize(
    ("write", "suffix", "models", "mapping", "expected"),
    [
        (
            inspect_log,
            ".eval",
            ("gpt-5", "sonnet-4"),
            ("resolved", {"format": "inspect", "scorer": "resolved", "cluster_key": "repo"}),
            {
                "accuracy": (0.65, 0.648), "stderr": (0.021352091786223066, 0.021380042385946048),
                "n10": 41, "n01": 40, "p": 1.0,
            },
        ),
        (
            lm_eval_samples,
            ".jsonl",
            ("sonnet-4", "sonnet-4-5"),
            (
                "exact_match,none",
                {
                    "format": "lm_eval", "metric": "exact_match", "filter": "none", "item_id": "doc.instance_id",
                    "cluster": "doc.repo",
                },
            ),
            {
                "accuracy": (0.648, 0.706), "stderr": (0.021380042385946044, 0.020395095484936603),
                "n10": 25, "n01": 54, "p": 0.0014660719473423367,
            },
        ),
    ],
    ids=["inspect", "lm-eval"],
)  # fmt: skip
def test_runs_are_imported_as_their_harness_counted_them(tmp_path, write, suffix, models, mapping, expected):
    key, fields = mapping
    paths = [write(tmp_path / f"samples_swe_{model}{suffix}", model) for model in models]
    values, clusters, again = imported(paths, mapping_of(**fields), key)
    before, after = values
    n = len(before)
    assert (n, len(set(clusters))) == (500, 12)
    assert clusters == again
    assert tuple(values.mean(axis=1)) == pytest.approx(expected["accuracy"], abs=1e-12)
    errors = [math.sqrt(arm.var(ddof=1) / n) for arm in values]
    assert errors == pytest.approx(expected["stderr"], abs=1e-12)
    assert int(((before == 1) & (after == 0)).sum()) == expected["n10"]
    assert int(((before == 0) & (after == 1)).sum()) == expected["n01"]
    found = analyse("mcnemar", {"baseline": before.tolist(), "candidate": after.tolist()})
    assert found.p_value == pytest.approx(expected["p"], abs=1e-9)
