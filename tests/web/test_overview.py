"""A project at a glance: what waits and how far it is, what is due, how verdicts fell; and nothing that is sealed."""

from __future__ import annotations

import re

from tests.web.outline import page
from tests.web.samples import PLAN, hypothesis_verdict, verdict_of


def test_an_empty_project_has_an_overview(reader):
    outline = page(reader, "/overview")
    assert "Nothing waits for results." in outline.text
    assert "There is no verdict yet." in outline.text
    assert re.search(r"0 draft 0 locked 0 collecting", outline.text)


def test_it_counts_states_and_says_how_far_collections_are(reader, keep):
    keep("draft", "p0")
    keep("locked", "p1")
    keep("collecting", "p2")
    outline = page(reader, "/overview")
    assert re.search(r"1 draft 1 locked 1 collecting", outline.text)
    progress = list(outline.all("progress"))
    assert {each["max"] for each in progress} == {"8"}
    assert outline.text.count("0 of 8 results") == 2
    assert "2 plans locked, 0 judged; 0 of 0 hypotheses supported" in outline.text
    assert "Not supported" not in outline.text


def test_verdicts_are_counted_and_shown_by_their_headline(reader, keep):
    keep("judged", "p1", verdict=verdict_of("p1", hypothesis_verdict(outcome="supported")))
    keep("judged", "p2")
    outline = page(reader, "/overview")
    assert "1 of 2 hypotheses were supported." in outline.text
    assert "H1a: Not supported" in outline.text
    assert "C3 beat C1" in outline.text
    assert "C3 did not beat C1" in outline.text
    assert reader.get("/overview?lang=zh").text.count("2 个假设中有 1 个得到支持。") == 1


def test_items_that_several_plans_were_locked_to_are_counted(reader, keep):
    keep("judged", "p1")
    keep("collecting", "p2")
    outline = page(reader, "/overview")
    assert "2 plans locked, 1 judged; 0 of 1 hypotheses supported" in outline.text


def test_what_is_due_stands_first(reader, keep):
    keep("locked", "p1", plan={**PLAN, "results_due": "2020-01-01"})
    keep("locked", "p2")
    outline = page(reader, "/overview")
    assert outline.text.index("Due and not all in") < outline.text.index("Waiting for results")
    assert outline.text.count("overdue") == 1


def test_a_collection_tells_nothing_of_its_outcomes_and_nothing_of_other_projects(reader, keep, others):
    """Two projects that differ in outcomes alone look the same; another project's records are not there."""
    keep("collecting", "p1")
    before = reader.get("/overview").text
    keep("judged", "q1", of=others)
    assert reader.get("/overview").text == before
    assert "q1" not in before


def test_the_list_shows_progress_and_headlines(reader, keep):
    keep("collecting", "p1")
    keep("judged", "p2")
    outline = page(reader, "/preregistrations")
    assert "collecting 0 of 8 results" in outline.text
    assert "judged H1a: Not supported C3 did not beat C1" in outline.text


def test_records_of_one_title_are_told_apart_by_their_ids(reader, keep):
    keep("collecting", "p1")
    assert "<code" not in reader.get("/preregistrations").text.partition("<table")[2].partition("</table>")[0]
    keep("judged", "p2")
    table = reader.get("/preregistrations").text.partition("<table")[2].partition("</table>")[0]
    assert all(f'<code class="quiet">{name}</code>' in table for name in ("p1", "p2"))


def test_more_verdicts_than_it_shows_are_a_link_away(reader, keep):
    for number in range(10):
        keep("judged", f"p{number}")
    assert '?state=judged">All' not in reader.get("/overview").text
    keep("judged", "p10")
    assert (
        '<a href="/preregistrations?state=judged">All 11 records that are judged</a>'
        in reader.get("/overview").text
    )
