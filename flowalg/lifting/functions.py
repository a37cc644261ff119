"""Functions and their bodies: statements that only name values and return one are an expression.

A function that calls another one holds the other's expression, so that a failure in it has to happen all the same:
arguments and variables that may fail must be evaluated whichever way the function takes.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import islice
from types import CodeType, FunctionType
from typing import Final

from attrs import evolve
from returns.result import Failure, Success

from flowalg.data.shapes import TupleOf
from flowalg.elementwise.functions import describe_function
from flowalg.lifting.operations import records
from flowalg.lifting.operations.choices import choose
from flowalg.lifting.python.captured import global_of
from flowalg.lifting.python.scope import Scope
from flowalg.lifting.python.source import syntax_of
from flowalg.lifting.syntax import annotated, condition, expression
from flowalg.lifting.tree.expressions import Constant, Expr, Opaque, walk
from flowalg.lifting.tree.failures import can_fail, surely_evaluated

LARGEST: Final = 2000
"""An expression of more parts than this is left to Python."""
_MOST_FORKS: Final = 6
"""An ``if`` both of whose ways go on doubles what follows; a function with more of them is left to Python."""


def lift_function(
    f: FunctionType,
    args: tuple[Expr, ...],
    named: Mapping[str, Expr],
    inside: tuple[CodeType, ...],
) -> Expr:
    """The expression that a call of ``f`` computes, inside of calls of other functions."""
    lifted = _lifted(f, args, named, inside)
    if lifted.shape is None and isinstance(lifted, Opaque):
        return evolve(lifted, shape=annotated(f))
    return lifted


def _lifted(
    f: FunctionType, args: tuple[Expr, ...], named: Mapping[str, Expr], inside: tuple[CodeType, ...]
) -> Expr:
    place = describe_function(f)
    if f.__code__ in inside:
        return Opaque(None, "a function that calls itself", place)
    match syntax_of(f):
        case Success(ast.Lambda() | ast.FunctionDef() as syntax):
            pass
        case Failure(reason):
            return Opaque(None, str(reason), place)
        case _:
            return Opaque(None, "its source is not available", place)
    names = _bound(syntax.args, args, named)
    if names is None:
        count = len(syntax.args.posonlyargs) + len(syntax.args.args)
        return Opaque(None, f"it takes {count} arguments, not {len(args) + len(named)}", place)
    scope = Scope(place, partial(global_of, f), names, lift_function, (*inside, f.__code__))
    body = syntax.body
    lifted = block(body, scope) if isinstance(body, list) else expression(body, scope)
    for name, value in names.items():
        if can_fail(value) and value not in surely_evaluated(lifted):
            return Opaque(lifted.shape, f"the argument {name}, which may fail and is not always used", place)
    return _bounded(lifted, place)


def _bound(
    parameters: ast.arguments, args: tuple[Expr, ...], named: Mapping[str, Expr]
) -> dict[str, Expr] | None:
    """The parameters with their arguments, if each has just one."""
    positional = [parameter.arg for parameter in (*parameters.posonlyargs, *parameters.args)]
    bound = dict(zip(positional, args, strict=False))
    by_name = {arg.arg for arg in parameters.args}
    fits = len(args) <= len(positional) and named.keys() <= by_name - bound.keys()
    bound.update(named)
    return bound if fits and len(bound) == len(positional) else None


def _bounded(lifted: Expr, place: str) -> Expr:
    if sum(1 for _ in islice(walk(lifted), LARGEST + 1)) > LARGEST:
        return Opaque(lifted.shape, f"an expression of more than {LARGEST} parts", place)
    return lifted


def block(statements: Sequence[ast.stmt], scope: Scope) -> Expr:
    """What a body returns: assignments to variables, ``if`` and ``return``."""
    if not statements:
        return Constant(None, None)
    first, *rest = statements
    match first:
        case ast.Return(value=None):
            return Constant(None, None)
        case ast.Return(value=ast.expr() as value):
            return expression(value, scope)
        case ast.Pass() | ast.Expr(value=ast.Constant()):
            return block(rest, scope)
        case (
            ast.Assign(targets=[ast.Name(id=name)], value=value)
            | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
        ):
            return _assigned((name,), (expression(value, scope),), first, rest, scope)
        case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=value):
            old = ast.copy_location(ast.Name(target.id, ast.Load()), target)
            new = ast.copy_location(ast.BinOp(old, op, value), first)
            return _assigned((name,), (expression(new, scope),), first, rest, scope)
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value):
            return _unpacked(targets, expression(value, scope), first, rest, scope)
        case ast.If():
            return _branched(first, rest, scope)
        case _:
            return scope.opaque(first, f"the statement {type(first).__name__}, which is not lifted")


def _assigned(
    names: Sequence[str], values: Sequence[Expr], node: ast.stmt, rest: Sequence[ast.stmt], scope: Scope
) -> Expr:
    after = scope
    for name, value in zip(names, values, strict=True):
        if isinstance(value, Opaque) and value.shape is None:
            return value
        after = after.bound(name, value)
    result = _bounded(block(rest, after), scope.place(node))
    for name, value in zip(names, values, strict=True):
        if can_fail(value) and value not in surely_evaluated(result):
            reason = f"the variable {name}, which may fail and is not always used"
            return scope.opaque(node, reason, result.shape)
    return result


def _unpacked(
    targets: Sequence[ast.expr], value: Expr, node: ast.stmt, rest: Sequence[ast.stmt], scope: Scope
) -> Expr:
    """``a, b = value``."""
    names = [target.id for target in targets if isinstance(target, ast.Name)]
    if not (isinstance(value.shape, TupleOf) and len(value.shape.items) == len(names) == len(targets)):
        if isinstance(value, Opaque) and value.shape is None:
            return value
        return scope.opaque(node, f"the unpacking of a {value.shape}")
    place = scope.place(node)
    items = [records.item(value, index, place) for index in range(len(names))]
    return _assigned(names, items, node, rest, scope)


def _branched(node: ast.If, rest: Sequence[ast.stmt], scope: Scope) -> Expr:
    if rest and not _returns(node.body) and not _returns(node.orelse):
        scope = evolve(scope, forks=scope.forks + 1)
        if scope.forks > _MOST_FORKS:
            return scope.opaque(node, f"more than {_MOST_FORKS} ifs in a row that do not return")
    tested = condition(node.test, scope)
    then = block([*node.body, *rest], scope.given(tested, True))
    otherwise = block([*node.orelse, *rest], scope.given(tested, False))
    return choose(tested, then, otherwise, scope.place(node))


def _returns(statements: Sequence[ast.stmt]) -> bool:
    """Whether a body surely ends with a return."""
    match statements:
        case [*_, ast.Return()]:
            return True
        case [*_, ast.If(body=body, orelse=orelse)]:
            return _returns(body) and _returns(orelse)
        case _:
            return False


__all__ = ["LARGEST", "lift_function"]
