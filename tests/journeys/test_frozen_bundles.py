"""Bundles that earlier versions made are verified, and judged again, by this one."""

from __future__ import annotations

from pathlib import Path

import pytest

from forelock.bundles.verifying import Kept, exit_status, verify
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
