"""Function bodies: a body of assignments, ``if`` and ``return`` statements is translated to one expression.

A call of another function is inlined. Its failures must be preserved: an argument or variable that may fail must be
evaluated on every path of the function, otherwise the function is left to Python.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from functools import partial
from types import CodeType, FunctionType
from typing import Final

from attrs import evolve
from returns.result import Failure, Success

from flowalg.data.errors import describe_function
from flowalg.data.shapes import SumOf, TupleOf, required
from flowalg.lifting.matches import lift_match
from flowalg.lifting.operations import records
from flowalg.lifting.operations.conditionals import as_declared, choose
from flowalg.lifting.python.captured_values import default_values, resolve_global
from flowalg.lifting.python.collections_read import as_constant
from flowalg.lifting.python.scope import NO_CONSTRUCTORS, Constructors, Scope
from flowalg.lifting.python.source import syntax_of
from flowalg.lifting.python.syntax_names import describe_statement
from flowalg.lifting.syntax import annotated_shape, lift_condition, lift_expression
from flowalg.lifting.tree.expressions import Constant, Expr, Match, Opaque, children
from flowalg.lifting.tree.failures import always_evaluated, can_fail

LARGEST: Final = 2000
"""An expression with more nodes than this is left to Python."""
DEEPEST: Final = 150
"""An expression with more levels than this is left to Python, since expressions are compiled by recursion."""
_MOST_FORKS: Final = 6
"""An ``if`` without ``return`` duplicates the statements after it; a function with more of them is left to Python."""


def lift_function(
    f: FunctionType,
    args: tuple[Expr, ...],
    named: Mapping[str, Expr],
    inside: tuple[CodeType, ...],
    constructors: Constructors = NO_CONSTRUCTORS,
) -> Expr:
    """Returns the expression that a call of ``f`` computes; ``inside`` are the enclosing functions being inlined.

    ``constructors`` are those of its scope.
    """
    lifted = _lift_call(f, args, named, inside, constructors)
    if lifted.shape is None and isinstance(lifted, Opaque):
        return evolve(lifted, shape=annotated_shape(f))
    return _as_annotated(lifted, f)


def _as_annotated(lifted: Expr, f: FunctionType) -> Expr:
    """Returns the result of a function as a value of the sum that it is annotated with.

    A function that returns values of several types, of which its annotation lacks one, is left to Python.
    """
    annotated = annotated_shape(f) if "return" in f.__annotations__ and lifted.shape is not None else None
    if annotated is None or not any(
        shape is not None and isinstance(required(shape), SumOf) for shape in (annotated, lifted.shape)
    ):
        return lifted
    return as_declared(lifted, annotated, describe_function(f), "annotated")


def _lift_call(
    f: FunctionType,
    args: tuple[Expr, ...],
    named: Mapping[str, Expr],
    inside: tuple[CodeType, ...],
    constructors: Constructors,
) -> Expr:
    location = describe_function(f)
    if f.__code__ in inside:
        return Opaque(None, "recursion", location)
    match syntax_of(f):
        case Success(ast.Lambda() | ast.FunctionDef() as syntax):
            pass
        case Failure(reason):
            return Opaque(None, str(reason), location)
        case _:
            return Opaque(None, "its source is not available", location)
    defaults = default_values(f)
    names = _bind(syntax.args, args, named, defaults)
    if names is None:
        count = f.__code__.co_argcount + f.__code__.co_kwonlyargcount
        takes = f"{count - len(defaults)} to {count}" if defaults else str(count)
        return Opaque(None, f"it takes {takes} arguments, not {len(args) + len(named)}", location)
    captured = partial(_captured, f, defaults)
    inline = partial(lift_function, constructors=constructors)
    scope = Scope(location, captured, names, inline, (*inside, f.__code__), constructors=constructors)
    body = syntax.body
    lifted = lift_block(body, scope) if isinstance(body, list) else lift_expression(body, scope)
    for name, value in names.items():
        if can_fail(value) and value not in always_evaluated(lifted):
            return Opaque(
                lifted.shape, f"the argument {name}, which may fail and is not always used", location
            )
    return _limit_size(lifted, location)


def _bind(
    parameters: ast.arguments,
    args: tuple[Expr, ...],
    named: Mapping[str, Expr],
    defaults: Mapping[str, object],
) -> dict[str, Expr] | None:
    """Binds arguments to parameters; returns ``None`` unless each has exactly one argument, or none and a default."""
    positional = [parameter.arg for parameter in (*parameters.posonlyargs, *parameters.args)]
    bound = dict(zip(positional, args, strict=False))
    by_name = {arg.arg for arg in (*parameters.args, *parameters.kwonlyargs)}
    fits = len(args) <= len(positional) and named.keys() <= by_name - bound.keys()
    bound.update(named)
    return bound if fits and by_name.union(positional) <= bound.keys() | defaults.keys() else None


def _captured(f: FunctionType, defaults: Mapping[str, object], name: str) -> object:
    """Returns the value of a name that has no expression: a default value, or that of a variable."""
    return defaults[name] if name in defaults else as_constant(f, name, resolve_global(f, name))


def _limit_size(lifted: Expr, location: str) -> Expr:
    """Returns the expression, opaque if it is too large or too deep."""
    left, nodes = [(lifted, 1)], 0
    while left:
        expr, depth = left.pop()
        nodes += 1
        if nodes > LARGEST:
            return Opaque(lifted.shape, f"an expression of more than {LARGEST} nodes", location)
        if depth > DEEPEST:
            return Opaque(lifted.shape, f"operations nested more than {DEEPEST} deep", location)
        left += [(child, depth + 1) for child in children(expr)]
    return lifted


def lift_block(statements: Sequence[ast.stmt], scope: Scope) -> Expr:
    """Lifts a body of assignments, ``if`` and ``return`` statements; a body without ``return`` returns ``None``."""
    if not statements:
        return Constant(None, None)
    first, *rest = statements
    match first:
        case ast.Return(value=None):
            return Constant(None, None)
        case ast.Return(value=ast.expr() as value):
            return lift_expression(value, scope)
        case ast.Pass() | ast.Expr(value=ast.Constant()):
            return lift_block(rest, scope)
        case (
            ast.Assign(targets=[ast.Name(id=name)], value=value)
            | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
        ):
            return _lift_assignment((name,), (lift_expression(value, scope),), first, rest, scope)
        case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=value):
            old = ast.copy_location(ast.Name(target.id, ast.Load()), target)
            new = ast.copy_location(ast.BinOp(old, op, value), first)
            return _lift_assignment((name,), (lift_expression(new, scope),), first, rest, scope)
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value):
            return _lift_unpacking(targets, lift_expression(value, scope), first, rest, scope)
        case ast.If():
            return _lift_branch(first, rest, scope)
        case ast.Match():
            return lift_match(first, rest, scope, lift_block)
        case _:
            return scope.opaque(first, f"a `{describe_statement(first)}` statement")


def _lift_assignment(
    names: Sequence[str], values: Sequence[Expr], node: ast.stmt, rest: Sequence[ast.stmt], scope: Scope
) -> Expr:
    after = scope
    for name, value in zip(names, values, strict=True):
        if isinstance(value, Opaque) and value.shape is None and not isinstance(value, Match):
            return value
        after = after.with_variable(name, value)
    result = _limit_size(lift_block(rest, after), scope.location(node))
    for name, value in zip(names, values, strict=True):
        if can_fail(value) and value not in always_evaluated(result):
            reason = f"the variable {name}, which may fail and is not always used"
            return scope.opaque(node, reason, result.shape)
    return result


def _lift_unpacking(
    targets: Sequence[ast.expr], value: Expr, node: ast.stmt, rest: Sequence[ast.stmt], scope: Scope
) -> Expr:
    """Lifts ``a, b = value``."""
    names = [target.id for target in targets if isinstance(target, ast.Name)]
    if not (isinstance(value.shape, TupleOf) and len(value.shape.items) == len(names) == len(targets)):
        if isinstance(value, Opaque) and value.shape is None:
            return value
        return scope.opaque(node, f"unpacking of {value.shape}")
    location = scope.location(node)
    items = [records.get_item(value, index, location) for index in range(len(names))]
    return _lift_assignment(names, items, node, rest, scope)


def _lift_branch(node: ast.If, rest: Sequence[ast.stmt], scope: Scope) -> Expr:
    if rest and not _returns(node.body) and not _returns(node.orelse):
        scope = evolve(scope, forks=scope.forks + 1)
        if scope.forks > _MOST_FORKS:
            return scope.opaque(node, f"more than {_MOST_FORKS} consecutive `if` statements without `return`")
    tested = lift_condition(node.test, scope)
    then = lift_block([*node.body, *rest], scope.assuming(tested, True))
    otherwise = lift_block([*node.orelse, *rest], scope.assuming(tested, False))
    return choose(tested, then, otherwise, scope.location(node))


def _returns(statements: Sequence[ast.stmt]) -> bool:
    """Returns whether every path of a body ends with a return."""
    match statements:
        case [*_, ast.Return()]:
            return True
        case [*_, ast.If(body=body, orelse=orelse)]:
            return _returns(body) and _returns(orelse)
        case [*_, ast.Match(cases=cases)]:
            return all(_returns(case.body) for case in cases)
        case _:
            return False
