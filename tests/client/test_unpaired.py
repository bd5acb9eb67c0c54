"""`forelock gate --unpaired`: files of different items, and numbers known before."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest


def write(name, prefix, values, before=None, per_chat=5):
    before = np.zeros(len(values)) if before is None else before
    lines = ["item_id,value,before,chat"]
    lines += [
        f"{prefix}{at},{value:g},{known:g},{prefix}{at // per_chat}"
        for at, (value, known) in enumerate(zip(values, before, strict=True))
    ]
    Path(name).write_text("\n".join(lines) + "\n")


def columns(right0=48, right1=70, n=80):
    write("base.csv", "a", [1] * right0 + [0] * (n - right0))
    write("cand.csv", "b", [1] * right1 + [0] * (n - right1))


GATE = ("gate", "base.csv", "cand.csv", "--metric", "value")


def test_files_without_a_common_item_are_refused_and_unpaired_is_named(shell):
    columns()
    status, output, errors = shell(*GATE)
    assert (status, output) == (2, "")
    assert "no item of 'base.csv' is in 'cand.csv'" in errors
    assert "--unpaired" in errors


@pytest.mark.parametrize(
    ("right1", "begins", "status"),
    [
        (70, "cand.csv beat base.csv (unpaired): ", 0),
        (20, "cand.csv is worse than base.csv (unpaired): ", 10),
        (50, "Cannot tell whether cand.csv is no worse than base.csv within 2.00 pp (unpaired): ", 12),
    ],
)
def test_the_first_line_says_unpaired_and_what_pairing_would_have_saved(shell, right1, begins, status):
    columns(right1=right1)
    ended, output, errors = shell(*GATE, "--unpaired", "--margin", "2pp", "--explain")
    assert (ended, errors) == (status, "")
    said = " ".join(output.split())
    assert said.startswith(begins)
    assert "in words Unpaired. " in said
    assert "With the same items in both arms, paired, about" in said
    assert "unpaired    baseline 80 items, candidate 80 others" in output
    assert "proportions (Boschloo)" in output


def test_covariates_are_read_adjusted_by_and_told(shell):
    rng = np.random.default_rng(1)
    known = rng.random((2, 100))
    write("base.csv", "a", 0.2 + 0.5 * known[0] + 0.02 * rng.random(100), known[0])
    write("cand.csv", "b", 0.25 + 0.5 * known[1] + 0.02 * rng.random(100), known[1])
    status, output, _ = shell(*GATE, "--unpaired", "--covariate", "before", "--cluster", "chat", "--json")
    answer = json.loads(output)
    assert (status, answer["arms"]["covariates"], answer["n_clusters"]) == (0, ["before"], 40)
    assert answer["arms"]["items_saved"] > 0.9
    _, output, _ = shell(*GATE, "--unpaired", "--covariate", "before")
    assert "adjusted by 'before'" in " ".join(output.split())
    assert "before stands for" in output
    assert "COVARIATE_KNOWN_BEFORE" in output
    assert "--set covariate" not in output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--covariate", "before"), "name --unpaired too"),
        (
            ("--unpaired", "--covariate", "chat"),
            "has 'a0' as 'chat', and a covariate is a number of every item",
        ),
        (("--unpaired", "--slice", "chat"), "compared on pairs alone"),
        (("--unpaired", "--cluster", "chat", "--unseen", "clusters"), "clusters is of paired arms"),
        (("--unpaired", "--covariate", "before"), "does not vary"),
    ],
)
def test_refusals_name_what_to_do(shell, arguments, said):
    columns()
    status, _, errors = shell(*GATE, *arguments)
    assert status in (1, 2)
    assert said in " ".join(errors.split())
