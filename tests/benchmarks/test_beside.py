"""What rose between two checkouts."""

from __future__ import annotations

from benchmarks.beside import as_table, compare


def row(name, ours, unit="s"):
    return {"group": "start", "name": name, "ours": ours, "unit": unit}


def test_a_row_that_costs_more_than_a_seventh_more_has_risen():
    changes, _ = compare(
        [row("start", 2.0), row("memory", 100.0, "MiB")], [row("start", 2.4), row("memory", 110.0, "MiB")]
    )
    assert [(change.name, change.risen) for change in changes] == [("start", True), ("memory", False)]
    assert "| start | 2 s | 2.4 s | 1.20 **risen** |" in as_table(changes)


def test_a_rate_costs_more_where_it_is_lower():
    changes, _ = compare([row("posts", 100.0, "requests/s")], [row("posts", 80.0, "requests/s")])
    assert [(change.ratio, change.risen) for change in changes] == [(1.25, True)]


def test_a_row_counts_by_the_turn_that_was_disturbed_least():
    turns = [row("start", 3.9), row("start", 2.0)], [row("start", 2.1), row("start", 5.0)]
    assert [(change.old, change.new) for change in compare(*turns)[0]] == [(2.0, 2.1)]


def test_rows_of_one_checkout_alone_are_listed_and_not_judged():
    changes, others = compare([row("gone", 1.0), row("both", 1.0)], [row("both", 1.0), row("new", 9.0)])
    assert ([change.name for change in changes], others) == (["both"], ["gone", "new"])
