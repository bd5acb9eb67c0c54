"""Bundles that earlier versions made are verified, and judged again, by this one."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from forelock.bundles.verifying import Kept, Opened, Recomputed, exit_status, verify
from service.actions.recomputing import recompute
from service.stats.shared.registry import library_versions

FROZEN = sorted((Path(__file__).parent / "frozen").glob("*.zip"))


@pytest.mark.parametrize("bundle", FROZEN, ids=[each.stem for each in FROZEN])
def test_a_bundle_of_an_earlier_version_holds(bundle: Path) -> None:
    note = bundle.with_suffix(".checkpoint").read_bytes()
    with bundle.open("rb") as file:
        alone = verify(file, kept=[Kept("kept", note)])
        assert [each.sentence for each in alone.checks if each.state in ("fail", "differs")] == []
        assert exit_status(alone) == 12
        report = verify(file, kept=[Kept("kept", note)], recompute=recompute)
    assert report.verdict is not None
    here = report.verdict["versions"] == library_versions()
    assert exit_status(report) == 12 or (not here and exit_status(report) == 5), report.checks


def test_there_is_one_of_every_version() -> None:
    assert [each.stem for each in FROZEN] == ["version-1"]


def without_numbers(said: dict[str, Any]) -> None:
    said["hypotheses"] = [{name: each[name] for name in ("id", "outcome")} for each in said["hypotheses"]]


def without_an_answer(said: dict[str, Any]) -> None:
    del said["hypotheses"][0]["analyses"]["flip"]


def without_counts(said: dict[str, Any]) -> None:
    said["primary_outcomes"] = {}


def as_if_drawn(said: dict[str, Any]) -> None:
    """Another p-value of an exact test, said to come from a seed."""
    answer = said["hypotheses"][0]["analyses"]["flip"]
    answer["provenance"] |= {"exact": False, "seed": 1}
    answer["analysis"]["p_value"] = 1e-9


@pytest.mark.parametrize("change", [without_numbers, without_an_answer, without_counts, as_if_drawn])
def test_what_a_verdict_leaves_out_or_calls_drawn_is_not_the_same(
    change: Callable[[dict[str, Any]], None],
) -> None:
    """Whoever holds the signing key can sign such a verdict: its rows show it."""
    opened: list[Opened] = []

    def keep(each: Opened) -> Recomputed:
        opened.append(each)
        return Recomputed(True, False, "kept")

    with FROZEN[0].open("rb") as file:
        verify(file, recompute=keep)
        said = json.loads(opened[0].verdict) | {"versions": library_versions()}
        change(said)
        found = recompute(replace(opened[0], verdict=json.dumps(said).encode()))
    assert (found.same, found.explained) == (False, False)
