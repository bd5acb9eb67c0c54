"""What faults a module can have, and that each of them stands in it where it says."""

from __future__ import annotations

import ast

import pytest

from tools.mutants.faults import list_faults


def plant(source):
    """Each faulty expression of a function that returns one, as it reads after the fault."""
    module = f"def f(a, b):\n    return {source}\n".encode()
    planted = [fault.plant(module).decode() for fault in list_faults("m.py", module)]
    return {ast.unparse(ast.parse(text).body[0].body[0]).removeprefix("return ") for text in planted}


@pytest.mark.parametrize(
    ("source", "faults"),
    [
        ("a < b", {"a <= b", "a > b"}),
        ("a == b", {"a != b"}),
        ("a and b", {"a or b"}),
        ("a + b * 2", {"a - b * 2", "a + b / 2", "a + b * 3"}),
        ("not a", {"a"}),
        ("-a", {"a"}),
        ("True", {"False"}),
        ("a if b else None", {"a if not b else None"}),
        ("min(a, b)", {"max(a, b)"}),
        ("f'{a + 1}'", set()),
        ("a + 'ö' + str(b < 1)", {"a + 'ö' + str(b <= 1)", "a + 'ö' + str(b > 1)", "a + 'ö' + str(b < 2)"}),
    ],
)
def test_faults_of_an_expression(source, faults):
    assert plant(source) - {"None"} == faults


def test_conditions_are_turned_and_values_withheld():
    module = b"def f(a):\n    if a:\n        return a\n    raise ValueError(1 + 1)\n"
    assert [(fault.line, fault.before, fault.after) for fault in list_faults("m.py", module)] == [
        (2, "a", "(not a)"),
        (3, "return a", "return None"),
    ]


def test_a_fault_knows_its_function_and_annotations_and_tables_have_few():
    module = (
        b"LIMIT = 3\nNAMES = {'a' + 'b'}\n\n\n"
        b"class A:\n    def f(self, a: int = 1) -> 'int | None':\n"
        b"        def g():\n            return not a\n"
    )
    assert [(fault.function, fault.before) for fault in list_faults("m.py", module)] == [
        ("", "3"),
        ("A.f", "1"),
        ("A.f.g", "return not a"),
        ("A.f.g", "not a"),
    ]
