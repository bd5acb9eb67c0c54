"""Which functions a change of lines is a change of."""

from __future__ import annotations

import pytest

from tests.tools.affected.repository import git
from tools.affected.changes import Change, name_changed_functions, read_changes

MODULE = '''\
"""A module."""

LIMIT = 3


def first(x):
    """Give x."""
    def inner(y):
        return y + 1

    return inner(x)


class Box:
    size = 1

    @property
    def area(self):
        return self.size
'''


@pytest.mark.parametrize(
    ("lines", "functions"),
    [
        ({7}, {"first"}),
        ({9}, {"first.inner"}),
        ({9, 11}, {"first.inner", "first"}),
        ({17}, {"Box.area"}),
        ({19, 12}, {"Box.area"}),  # and an empty line between functions
        ({3}, None),
        ({15}, None),
        ({3, 9}, None),
    ],
)
def test_a_line_belongs_to_the_innermost_function_around_it(lines, functions):
    assert name_changed_functions(MODULE, lines) == (None if functions is None else frozenset(functions))


def test_what_cannot_be_parsed_is_changed_as_a_whole():
    assert name_changed_functions("def (", {1}) is None


@pytest.fixture
def checkout(tmp_path):
    git(tmp_path, "init", "-q")
    (tmp_path / "module.py").write_text(MODULE)
    (tmp_path / "page.html").write_text("<p>")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "first")
    return tmp_path


def test_changes_are_what_differs_from_the_last_commit(checkout):
    (checkout / "module.py").write_text(MODULE.replace("y + 1", "y + 2"))
    (checkout / "new.py").write_text("")
    (checkout / "page.html").unlink()
    assert read_changes(checkout) == [
        Change("module.py", frozenset({"first.inner"})),
        Change("new.py", None),
        Change("page.html", None),
    ]


def test_a_line_taken_out_changes_the_function_that_had_it(checkout):
    (checkout / "module.py").write_text(MODULE.replace('    """Give x."""\n', ""))
    assert read_changes(checkout) == [Change("module.py", frozenset({"first"}))]


def test_where_nothing_differs_the_last_commit_counts(checkout):
    (checkout / "module.py").write_text(MODULE.replace("self.size", "2"))
    git(checkout, "commit", "-q", "-a", "-m", "second")
    assert read_changes(checkout) == [Change("module.py", frozenset({"Box.area"}))]
