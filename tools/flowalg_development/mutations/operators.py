"""Faults that nobody thought of: every operator, boundary and choice of a file, changed one at a time.

``SAMPLED`` takes some of them, the same ones as long as the code they change stays as it is.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Final
from zlib import crc32

from flowalg_development.mutations.mutant import Mutant

SAMPLED: Final = (
    "interpreters/flowalg_reference/trigger_state.py",
    "interpreters/flowalg_reference/window_state.py",
    "interpreters/flowalg_reference/grouping.py",
)

EQUIVALENT: Final[Mapping[str, str]] = {
    "in _schedule, 1 becomes 2": "the serial numbers of timers only break ties",
    "in _signal, signals & names becomes signals": (
        "more windows are evaluated than necessary, and evaluating an unaffected window is a no-op"
    ),
    "in _merge, elements or len(members) > 1 becomes elements": (
        "sessions merge only when an element joins them; live windows that could merge have merged already"
    ),
}
"""Why some of them survive, by their names."""

_COMPARED: Final[Mapping[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_CALLED: Final = {"min": "max", "max": "min", "any": "all", "all": "any"}


def operator_mutants(file: str, text: str) -> list[Mutant]:
    """All of them for one file, in the order of its text."""
    lines = text.encode().splitlines(keepends=True)
    starts = [sum(map(len, lines[:number])) for number in range(len(lines) + 1)]
    seen: Counter[str] = Counter()
    found: list[Mutant] = []
    for function in ast.walk(ast.parse(text)):
        if not isinstance(function, ast.FunctionDef):
            continue
        for node in (one for statement in function.body for one in ast.walk(statement)):
            for changed in _changed(node):
                assert isinstance(node, ast.expr)
                assert node.end_lineno is not None
                assert node.end_col_offset is not None
                first = starts[node.lineno - 1] + node.col_offset
                last = starts[node.end_lineno - 1] + node.end_col_offset
                name = f"in {function.name}, {ast.unparse(node)} becomes {ast.unparse(changed)}"
                seen[name] += 1
                name += f", number {seen[name]}" if seen[name] > 1 else ""
                whole = text.encode()
                new = whole[:first] + f"({ast.unparse(changed)})".encode() + whole[last:]
                found.append(Mutant(name, file, text, new.decode(), EQUIVALENT.get(name, "")))
    return found


def _changed(node: ast.AST) -> Iterator[ast.expr]:
    """What an expression could have been by mistake."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in _COMPARED:
            yield ast.Compare(node.left, [_COMPARED[type(op)]()], node.comparators)
        case ast.BoolOp(op=op, values=values):
            yield ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
            for left_out in range(len(values)):
                rest = [one for number, one in enumerate(values) if number != left_out]
                yield rest[0] if len(rest) == 1 else ast.BoolOp(op, rest)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield operand
        case ast.IfExp(body=body, orelse=orelse):
            yield body
            yield orelse
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            yield ast.BinOp(left, ast.Sub(), right)
        case ast.BinOp(left=left, op=ast.BitOr() | ast.BitAnd() | ast.Sub()):
            yield left
        case ast.Call(func=ast.Name(id=name)) if name in _CALLED:
            other = deepcopy(node)
            other.func = ast.Name(_CALLED[name])
            yield other
        case ast.Constant(value=bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(value=int() as value):
            yield ast.Constant(value + 1)
        case _:
            return


def sample(texts: Mapping[str, str], size: int) -> list[Mutant]:
    """Some of the mutants of some files: those that come first by a hash of their names."""
    every = [mutant for file, text in texts.items() for mutant in operator_mutants(file, text)]
    hashes = [crc32(f"{one.file} {one.fault}".encode()) for one in every]
    last = sorted(hashes)[: size + 1][-1]
    return [mutant for mutant, number in zip(every, hashes, strict=True) if number < last]


__all__ = ["EQUIVALENT", "SAMPLED", "operator_mutants", "sample"]
