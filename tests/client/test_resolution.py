"""`forelock resolve` and `audit` without a service: what data of a size can show."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest


def test_resolve_and_audit(shell):
    rng = np.random.default_rng(3)
    lines = [f"{a},{b},c{at // 20}" for at, (a, b) in enumerate(rng.integers(0, 2, (200, 2)))]
    Path("pilot.csv").write_text("\n".join(["baseline,candidate,cluster", *lines]))
    status, output, _ = shell("resolve", "pilot.csv", "--effect", "2pp")
    assert status == 0
    assert "200 items: smallest difference" in output
    assert "10 clusters: smallest difference" in output
    status, output, _ = shell("audit", "-n", "500", "-a", ".76", "-b", ".75")
    assert status == 0
    assert "differ by +1.00 pp, with 5 to 245 discordant items" in output
    assert shell("audit", "-n", "500", "-a", "76%", "-b", "75 %") == (0, output, "")


@pytest.mark.parametrize(
    ("accuracy", "said"),
    [
        ("65", "65 is no proportion: write 0.65 or 65%"),
        ("1.5", "1.5 is no proportion: write 0.015 or 1.5%"),
        ("650", "650 is no proportion: write one from 0 to 1, or 0% to 100%"),
        ("-0.1", "-0.1 is no proportion: write one from 0 to 1"),
        ("65%%", "'65%%' is no proportion: write one such as 0.65 or 65%"),
        ("nan", "'nan' is no proportion: write one such as"),
        ("much", "'much' is no proportion: write one such as"),
    ],
)
def test_an_accuracy_that_is_no_proportion_is_asked_back(shell, accuracy, said):
    status, output, errors = shell("audit", "-n", "500", f"-a={accuracy}", "-b", ".6")
    assert (status, output) == (2, "")
    assert f"argument -a/--candidate: {said}" in errors
