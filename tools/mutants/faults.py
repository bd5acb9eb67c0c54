"""Faults that can be planted in a module: one operator, constant, condition or returned value is another."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
}
CALLS = {
    "min": "max",
    "any": "all",
    "floor": "ceil",
    "argmin": "argmax",
    "minimum": "maximum",
    "lower": "upper",
}
CALLS |= {other: name for name, other in CALLS.items()} | {"sf": "cdf", "cdf": "sf"}


@dataclass(frozen=True)
class Fault:
    """One fault and where it stands.

    Attributes:
        path: of the module, relative to the checkout.
        function: the qualified name of the innermost function around it; "" outside of functions.
        line: of the expression, counted from 1.
        start: offset of the replaced text in the module's bytes.
        end: offset behind it.
        before: the replaced text.
        after: what stands there instead.
    """

    path: str
    function: str
    line: int
    start: int
    end: int
    before: str
    after: str

    def plant(self, source: bytes) -> bytes:
        """The module with the fault."""
        return source[: self.start] + self.after.encode() + source[self.end :]


def list_faults(path: str, source: bytes) -> Iterator[Fault]:
    """Every fault that this module can have, in the order of its lines."""
    offsets = [0]
    for line in source.splitlines(keepends=True):
        offsets.append(offsets[-1] + len(line))
    for node, replacement, function in _visit(ast.parse(source), "", False):
        start = offsets[node.lineno - 1] + node.col_offset
        end = offsets[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        text = ast.unparse(replacement)
        if isinstance(node, ast.expr):
            text = f"({text})"  # it may stand beside an operator that binds closer
        yield Fault(path, function, node.lineno, start, end, source[start:end].decode(), text)


Site: TypeAlias = tuple[ast.expr | ast.stmt, ast.AST, str]
UNTOUCHED = (ast.Raise, ast.Assert, ast.JoinedStr, ast.Import, ast.ImportFrom)
"""Messages and imports; and before Python 3.12 the parts of a formatted string do not know where they stand."""


def _visit(node: ast.AST, function: str, inside: bool) -> Iterator[Site]:
    """Nodes with what may replace them and the function around; annotations and decorators stay as they are."""
    if isinstance(node, UNTOUCHED):
        return
    children = ast.iter_child_nodes(node)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        defaults = [*node.args.defaults, *(value for value in node.args.kw_defaults if value is not None)]
        children = iter([*defaults, *node.body])
        inside = True
    elif isinstance(node, ast.ClassDef):
        children = iter(node.body)
    elif isinstance(node, ast.AnnAssign):
        children = iter([node.value] if node.value else [])
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        function = f"{function}.{node.name}" if function else node.name
    elif isinstance(node, ast.keyword) and node.arg == "strict":  # of zip, whose lengths agree
        return
    # Outside of functions stand tables and declarations: of those only the numbers.
    if isinstance(node, ast.expr | ast.stmt) and (inside or isinstance(node, ast.Constant)):
        for replacement in _replace(node):
            yield node, replacement, function if inside else ""
    if (
        inside
        and isinstance(node, ast.If | ast.While)
        and not isinstance(node.test, ast.Compare | ast.UnaryOp)
    ):
        yield node.test, ast.UnaryOp(ast.Not(), node.test), function
    for child in children:
        yield from _visit(child, function, inside)


def _replace(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Compare(ops=[operator]):
            for other in COMPARISONS[type(operator)]:
                yield _change(node, ops=[other()])
        case ast.BinOp(op=operator) if type(operator) in ARITHMETIC and not _is_text(node):
            yield _change(node, op=ARITHMETIC[type(operator)]())
        case ast.BoolOp(op=operator):
            yield _change(node, op=ast.Or() if isinstance(operator, ast.And) else ast.And())
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield operand
        case ast.Constant(value=bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(value=int() | float() as value):
            yield ast.Constant(value + 1)
        case ast.Name(id=name) if name in CALLS and isinstance(node.ctx, ast.Load):
            yield _change(node, id=CALLS[name])
        case ast.Attribute(attr=name) if name in CALLS and isinstance(node.ctx, ast.Load):
            yield _change(node, attr=CALLS[name])
        case ast.IfExp(test=test):
            yield _change(node, test=ast.UnaryOp(ast.Not(), test))
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield ast.Return(ast.Constant(None))


def _change(node: ast.AST, **fields: object) -> ast.AST:
    other = copy.copy(node)
    for name, value in fields.items():
        setattr(other, name, value)
    return other


def _is_text(node: ast.BinOp) -> bool:
    return any(
        isinstance(part, ast.JoinedStr) or (isinstance(part, ast.Constant) and isinstance(part.value, str))
        for part in ast.walk(node)
    )
