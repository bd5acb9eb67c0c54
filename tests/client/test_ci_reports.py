"""What code hosts are shown: a verdict as JUnit XML and Markdown, and counts alone before it."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

from forelock.ci_reports import Standing, junit, markdown
from forelock.text import EXIT_CODES

HYPOTHESIS = {
    "id": "H1",
    "claim": "superiority",
    "statement": "B is better",
    "outcome": "supported",
    "sentence": "B beats A by 3 pp",
    "rule": "delta >= 2.0 pp",
    "clauses": [{"text": "delta >= 2.0 pp", "observed": 0.03, "threshold": 0.02, "holds": True}],
}
VERDICT = {
    "preregistration_id": "p1",
    "title": "Caching",
    "plan_sha256": "ab" * 32,
    "hypotheses": [HYPOTHESIS],
    "marks": [],
}
WORDS = {
    "hypothesis": "H1",
    "headline": {"en": "B beat A: +3.00 pp, rule met", "zh": ""},
    "open": {"en": "Not shown: how large the gain is.", "zh": ""},
}
PROGRESS = {"state": "collecting", "received": 7, "expected": 20, "cells": []}


def shown(**changes):
    return Standing("p1", "http://s", **({"verdict": VERDICT} | changes))


def suite(of: Standing) -> ElementTree.Element:
    (found,) = ElementTree.fromstring(junit(of))
    return found


@pytest.mark.parametrize("outcome", EXIT_CODES)
def test_a_test_passes_exactly_where_the_exit_status_is_zero(outcome) -> None:
    found = suite(shown(verdict=VERDICT | {"hypotheses": [HYPOTHESIS | {"outcome": outcome}]}))
    (case,) = found.findall("testcase")
    assert (case.get("classname"), case.get("name")) == ("forelock.p1", "H1: B is better")
    assert (len(case) == 0) == (EXIT_CODES[outcome] == 0)
    counts = {name: int(found.get(name, "")) for name in ("tests", "failures", "errors", "skipped")}
    bad = {"failures": int(outcome not in ("supported", "invalid")), "errors": int(outcome == "invalid")}
    assert counts == {"tests": 1, "skipped": 0} | bad
    for each in case:
        assert "observed +3.00 pp" in (each.text or "")


def test_before_the_verdict_only_counts_are_told() -> None:
    before = shown(verdict=None, progress=PROGRESS)
    (skipped,) = suite(before).iter("skipped")
    said = "There is no verdict yet: 7 of 20 results are in (collecting)."
    assert skipped.get("message") == said
    assert said in markdown(before)
    assert "There is no verdict yet." in markdown(shown(verdict=None))


def test_markdown_can_be_found_again_and_says_the_outcome() -> None:
    lines = markdown(shown()).splitlines()
    assert lines[0] == "<!-- forelock p1 -->"
    assert "| H1 | ✅ supported | B beats A by 3 pp |" in lines
    assert (
        lines[-1]
        == f"Locked before the results: [p1](http://s/preregistrations/p1), plan SHA-256 `{'ab' * 32}`"
    )


def test_a_comment_and_a_list_of_tests_begin_with_the_headline() -> None:
    told = shown(
        verdict=VERDICT | {"hypotheses": [HYPOTHESIS | {"outcome": "not_supported"}]},
        words={"hypotheses": [WORDS | {"headline": {"en": "B did not beat A: @all", "zh": ""}}]},
    )
    lines = markdown(told).splitlines()
    assert lines[1:6] == [
        "### Forelock: Caching",
        "",
        "**❌ H1: B did not beat A: &#64;all**",
        "",
        "Not shown: how large the gain is.",
    ]
    assert "| Hypothesis |" not in markdown(told)
    (failure,) = suite(told).iter("failure")
    assert failure.get("message") == "B did not beat A: @all"


def test_what_a_plan_says_is_text_and_no_markup() -> None:
    nasty = "@all <img src=x> [a](http://e) | `x` \x1b[31m\u202e\ufffe ```\n# h"
    verdict = VERDICT | {
        "title": nasty,
        "hypotheses": [HYPOTHESIS | {"statement": nasty, "sentence": nasty, "outcome": "inconclusive"}],
        "marks": [{"effect": "flag", "says": nasty, "hypotheses": None}],
    }
    found = suite(shown(verdict=verdict))
    assert "\x1b" not in (found.findtext("system-out") or "")
    told, _, clauses = markdown(shown(verdict=verdict)).partition("<details>")
    assert "@all" not in told
    assert "<img" not in told
    assert "[a](" not in told
    assert "\n# h" not in told
    assert clauses.count("```") == 2, "the block of clauses is closed where it should be"


def test_command_writes_both_and_ends_as_the_verdict_says(command, service, tmp_path) -> None:
    service.will_answer(200, VERDICT | {"hypotheses": [HYPOTHESIS | {"outcome": "inconclusive"}]})
    service.will_answer(200, {"hypotheses": []})
    files = [str(tmp_path / name) for name in ("v.xml", "v.md")]
    status, output, _ = command("wait", "p1", "--junit", files[0], "--markdown", files[1])
    assert (status, "INCONCLUSIVE" in output) == (12, True)
    assert b"inconclusive" in (tmp_path / "v.xml").read_bytes()
    assert "❓ inconclusive" in (tmp_path / "v.md").read_text()


def test_command_before_the_verdict_writes_counts_and_fails(command, service, tmp_path) -> None:
    service.will_refuse(409, "blinded")
    service.will_answer(200, PROGRESS)
    status, _, errors = command("verdict", "p1", "--markdown", str(tmp_path / "v.md"))
    assert (status, errors) == (1, "blinded: it is blinded\n")
    assert "7 of 20 results are in" in (tmp_path / "v.md").read_text()


def test_submit_waits_where_it_is_told_to(command, service, tmp_path) -> None:
    (tmp_path / "r.csv").write_text("item_id,value\na,1\n")
    call = (
        "submit",
        "p1",
        str(tmp_path / "r.csv"),
        "--arm",
        "A",
        "--endpoint",
        "e",
        "--markdown",
        str(tmp_path / "v"),
    )
    assert command(*call)[0] == 2
    service.will_answer(201, {"n": 1, "batch": 1})
    service.will_answer(200, VERDICT)
    service.will_answer(200, {"hypotheses": [WORDS]})
    status, output, _ = command(*call, "--wait", "--json")
    assert (status, json.loads(output)["title"]) == (0, "Caching")
    assert "**✅ H1: B beat A: \\+3.00 pp, rule met**" in (tmp_path / "v").read_text()
