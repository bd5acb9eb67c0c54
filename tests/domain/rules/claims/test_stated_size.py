"""Sizes that statements name, and statements that name none."""

from __future__ import annotations

from fractions import Fraction

import pytest

from service.domain.rules.claims.margins import stated_size


@pytest.mark.parametrize(
    ("statement", "binary", "size"),
    [
        ("C3 improves paired accuracy over C1 by at least 2 pp", True, "0.02"),
        ("C3 improves accuracy by 3 points", True, "0.03"),
        ("C3 is 2 percentage points or more above C1", True, "0.02"),
        ("more than 1.5 percentage-points better", True, "0.015"),
        ("accuracy rises by at least 0.05.", True, "0.05"),
        ("accuracy rises by at least 0.05 over C1", True, None),
        ("C3 提高准确率至少 2 个百分点", True, "0.02"),
        ("scores rise by at least 0.5 points", False, "0.5"),
        ("scores rise by at least 3", False, "3"),
        ("by at least 2 pp, and by 5 pp on hard items", True, "0.02"),
        ("is better on at least 20 conversations", True, None),
        ("beats at least 3 models", False, None),
        ("improves by 2 %", True, None),
        ("is not worse by 2 pp", True, None),
        ("differs by no more than 2 pp", True, None),
        ("stays within at least 2 pp", True, None),
        ("is better by 2026", True, None),
        ("is better", True, None),
        ("by at least 0 pp", True, None),
        ("GPT-4.1 is better by 2 pp", True, "0.02"),
    ],
)
def test_a_size_is_read_only_where_it_can_mean_nothing_else(statement, binary, size):
    assert stated_size(statement, binary=binary) == (None if size is None else Fraction(size))
