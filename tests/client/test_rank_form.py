"""What `forelock rank` prints and draws: tiers, ranks left open, what is missing; few systems and sixty."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from forelock.questions.pictures.rank_drawing import Ladder, Place

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def wide(k, items, seed=1, gone=0.0):
    """A table of systems that get better, with gaps at random, clusters and slices."""
    rng = np.random.default_rng(seed)
    right = rng.random((items, k)) < np.linspace(0.9, 0.2, k)
    lacks = rng.random((items, k)) < gone
    rows = [
        ",".join([f"q{at}", f"repo{at % 12}", "easy" if at % 2 else "hard", *(
            "" if lacks[at, arm] else str(int(right[at, arm])) for arm in range(k)
        )])
        for at in range(items)
    ]  # fmt: skip
    head = ",".join(["item_id", "repo", "kind", *(f"system-{arm}" for arm in range(k))])
    return "\n".join([head, *rows]) + "\n"


def test_sixty_systems_are_a_line_each_tier_by_tier(shell):
    Path("wide.csv").write_text(wide(60, 150, gone=0.2))
    status, output, errors = shell("rank", "wide.csv", "--svg", "ranks.svg", "--json")
    assert (status, errors) == (0, "")
    answer = json.loads(output)
    tiers = answer["answer"]["tiers"]
    assert sum(map(len, tiers)) == 60
    assert len(tiers) > 2
    assert answer["answer"]["best"] == tiers[0]
    texts = [each.text for each in ET.fromstring(Path("ranks.svg").read_text()).iter(f"{SVG}text")]
    assert {f"system-{arm}" for arm in range(60)} <= set(texts)
    _, output, _ = shell("rank", "wide.csv")
    picture = output.split("\n\n")[1].splitlines()
    assert len(picture) == 61
    assert max(map(len, picture)) <= 100
    assert not any(len(line) > 110 for line in output.splitlines())


def test_gaps_are_told_and_never_refused(shell):
    lines = wide(4, 80).splitlines()
    short = [line if at % 3 else line.rpartition(",")[0] + "," for at, line in enumerate(lines)]
    Path("wide.csv").write_text("\n".join([lines[0], *short[1:]]) + "\n")
    status, output, _ = shell("rank", "wide.csv", "--cluster", "repo", "--ascii")
    assert status == 0
    assert "80 in 12 clusters, of which 54 have all systems" in output
    assert "* lacks     system-3 3" in output
    assert "mean as if it had every item: system-3" in output
    assert "at least" in output
    assert "since it was chosen as the best" in output
    assert output.isascii()
    _, common, _ = shell("rank", "wide.csv", "--common")
    assert "  items       54\n" in common
    assert "lacks" not in common


def test_slices_share_the_level(shell):
    Path("wide.csv").write_text(wide(3, 120))
    _, output, _ = shell("rank", "wide.csv", "--slice", "kind", "--json", "--markdown", "rank.md")
    slices = json.loads(output)["slices"]
    assert list(slices) == ["hard", "easy"]
    assert [each["analysis"]["n"] for each in slices.values()] == [60, 60]
    assert slices["hard"]["analysis"]["arms"][0]["gap"]["level"] == pytest.approx(0.975)
    assert "| slice | hard  first system-0" in Path("rank.md").read_text().replace("\\", "")


def test_a_slice_that_cannot_be_ranked_says_why(shell):
    Path("wide.csv").write_text("item_id,kind,x,y\na,one,1,0\nb,two,1,0\nc,two,0,1\nd,two,1,1\n")
    status, output, _ = shell("rank", "wide.csv", "--slice", "kind")
    assert status == 0
    assert "not ranked: " in output
    assert "single item" in output


def test_systems_that_share_a_letter_are_not_told_apart():
    places = [
        Place("a", 1, 1, 1, 2, "90%", "a"),
        Place("b", 1, 1, 2, 3, "80%", "ab"),
        Place("c", 2, 2, 3, 3, "50%", "b"),
    ]
    drawn = Ladder(places).draw("ascii").splitlines()
    assert drawn[0].split() == ["tier", "system", "mean", "1", "3", "ranks", "not", "apart"]
    assert [line.split()[-1] for line in drawn[1:]] == ["a", "ab", "b"]
    assert "o-]" in drawn[1]
    assert "[-o-]" in drawn[2]


def test_names_that_are_markup_are_told_as_text():
    svg = Ladder([Place("<b>&\ufffe", 1, 1, 1, 2, "1"), Place("x" * 90, 1, 1, 2, 2, "0")]).svg('"<title>')
    texts = [each.text for each in ET.fromstring(svg).iter(f"{SVG}text")]
    assert "<b>&?" in texts
    assert max(map(len, Ladder([Place("x" * 90, 1, 1, 1, 1, "0")]).draw().splitlines())) < 80
