"""Generated faults: each operator, boundary and condition of some modules, changed one at a time.

The tests run on a sample. It depends only on the syntax of the functions, and not on the names of modules and local
variables.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from typing import Final
from zlib import crc32

from attrs import evolve, field, frozen

from tests.mutations.mutant import (
    Mutation,
    Names,
    Replacement,
    Sources,
    find_scopes,
    with_node,
)

SAMPLED: Final = ("flowalg_reference:fire", "flowalg_reference:WindowState", "flowalg_reference:Grouping")
"""Functions and classes whose modules are sampled."""

_NO_OP: Final = "more windows are evaluated than necessary, and evaluating an unaffected window is a no-op"

EQUIVALENT: Final = (
    Replacement(
        "every window with a signal trigger is evaluated at each signal",
        "Grouping._signal",
        "signals_reaching(signals, key, state.window) & names",
        "signals_reaching(signals, key, state.window)",
        why_it_survives=_NO_OP,
    ),
    Replacement(
        "a window that is ready, or would change, is evaluated again in the next instant",
        "Grouping._schedule",
        "again and fire(trigger, state.trigger, state.window, clocks) != state.trigger",
        "again or fire(trigger, state.trigger, state.window, clocks) != state.trigger",
        why_it_survives=_NO_OP,
    ),
    Replacement(
        "a window that is ready is evaluated again in the next instant",
        "Grouping._schedule",
        "again and fire(trigger, state.trigger, state.window, clocks) != state.trigger",
        "again",
        why_it_survives=_NO_OP,
    ),
    Replacement(
        "an unchanged discarding pane is empty without being forced",
        "WindowState._emit",
        "forced and not self.changed and mode is Accumulation.DISCARDING and spec.combiner.has_empty_result",
        "not self.changed and mode is Accumulation.DISCARDING and spec.combiner.has_empty_result",
        why_it_survives="a window emits only if it has changed or is forced, so an unchanged one is forced",
    ),
)
"""The generated mutants that survive, with the reason."""

_COMPARISONS: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
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
_FUNCTIONS: Final = {"min": "max", "max": "min", "any": "all", "all": "any"}


@frozen(eq=False)
class OperatorChange:
    """A fault: one expression of a module replaced by another.

    ``key`` identifies it independently of the names of local variables.
    """

    fault: str
    key: str
    file: str
    module: ast.Module = field(repr=False)
    old: ast.expr = field(repr=False)
    new: ast.expr = field(repr=False)
    why_it_survives: str = ""

    def apply(self, sources: Sources) -> Mutation:
        """Returns the file with the fault in it."""
        return Mutation(self.file, with_node(self.module, self.old, self.new))


def operator_changes(file: str, module: ast.Module) -> Iterator[OperatorChange]:
    """Yields all changes of a module, in the order of its functions."""
    faults: Counter[str] = Counter()
    keys: Counter[str] = Counter()
    for function in ast.walk(module):
        if not isinstance(function, ast.FunctionDef):
            continue
        names = Names.of(function, module)
        for old in (part for statement in function.body for part in ast.walk(statement)):
            for new in _mistakes(old):
                assert isinstance(old, ast.expr)
                fault = f"in {function.name}, {ast.unparse(old)} becomes {ast.unparse(new)}"
                key = f"{function.name} {names.canonical(old)} {names.canonical(new)}"
                faults[fault] += 1
                keys[key] += 1
                fault += f", number {faults[fault]}" if faults[fault] > 1 else ""
                yield OperatorChange(fault, f"{key} {keys[key]}", file, module, old, new)


def _mistakes(node: ast.AST) -> Iterator[ast.expr]:
    """Yields plausible mistakes in place of an expression."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in _COMPARISONS:
            yield ast.Compare(node.left, [_COMPARISONS[type(op)]()], node.comparators)
        case ast.BoolOp(op=op, values=values):
            yield ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
            for left_out in range(len(values)):
                rest = [value for number, value in enumerate(values) if number != left_out]
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
        case ast.Call(func=ast.Name(id=name)) if name in _FUNCTIONS:
            other = deepcopy(node)
            other.func = ast.Name(_FUNCTIONS[name])
            yield other
        case ast.Constant(value=bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(value=int() as value):
            yield ast.Constant(value + 1)
        case _:
            return


def sample(sources: Sources, size: int) -> list[OperatorChange]:
    """Returns ``size`` changes of the sampled modules, the first by a hash of their keys."""
    files = {file for name in SAMPLED for file, _, _ in find_scopes(sources, name)}
    every = [change for file in sorted(files) for change in operator_changes(file, sources[file])]
    some = sorted(every, key=lambda change: crc32(change.key.encode()))[:size]
    reasons = {known.apply(sources): known.why_it_survives for known in EQUIVALENT}
    return [evolve(change, why_it_survives=reasons.get(change.apply(sources), "")) for change in some]
