"""Translates syntax to expressions. Only known syntax is translated; any other becomes ``Opaque``.

An opaque expression may still have a known shape (an f-string is a str), which engines with schemas need. The
translation is sound: an expression without opaque parts computes exactly what the function computes, errors included.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from types import FunctionType, MappingProxyType, NoneType
from typing import Final, get_args, get_origin, get_type_hints

from attrs import evolve

from flowalg.data.errors import RecordTypeError
from flowalg.data.record_classes import CONTAINED, record_class
from flowalg.data.shapes import (
    BOOLEAN,
    DURATION,
    FLOAT,
    INTEGER,
    TEXT,
    EnumOf,
    ListOf,
    MapOf,
    MaybeOf,
    Nullable,
    RecordOf,
    Shape,
    SumOf,
    TupleOf,
    shape_of,
)
from flowalg.lifting import builtin_calls
from flowalg.lifting.operations import (
    containers,
    dictionaries,
    formats,
    mappings,
    patterns,
    records,
    strings,
    times,
)
from flowalg.lifting.operations.comparisons import compare, is_none, is_nothing, unwrap_optional
from flowalg.lifting.operations.conditionals import choose, to_bool
from flowalg.lifting.operations.conversions import int_constant, is_number, to_int
from flowalg.lifting.operations.instances import has_plain_instances, is_instance, narrowed, of_each_member
from flowalg.lifting.operations.membership import is_member, is_one_of
from flowalg.lifting.operations.numbers import lift_arithmetic, negate
from flowalg.lifting.operations.numpy_functions import numpy_function
from flowalg.lifting.python.attributes import is_safe
from flowalg.lifting.python.captured_values import MISSING, to_constant, without_partial
from flowalg.lifting.python.enums import is_plain
from flowalg.lifting.python.scope import Scope
from flowalg.lifting.python.syntax_names import describe_expression, symbol_of
from flowalg.lifting.tree.expressions import (
    FALSE,
    TRUE,
    Apply,
    Build,
    Constant,
    Each,
    Expr,
    Item,
    Match,
    Opaque,
    PythonCall,
    conjunction,
    disjunction,
    first_opaque,
    negation,
)
from flowalg.lifting.tree.failures import always_evaluated, can_fail, is_column, is_wide
from flowalg.lifting.tree.primitives import Op


def lift_expression(node: ast.expr, scope: Scope) -> Expr:
    """Lifts an expression; an optional that is known not to be ``None`` here has the shape of its value.

    A value of a sum has the shape of the only member that it can be of here.
    """
    lifted = _lift_node(node, scope)
    if isinstance(lifted.shape, Nullable) and lifted in scope.present:
        is_maybe = isinstance(lifted.shape, MaybeOf)
        lifted = containers.as_some(lifted) if is_maybe else unwrap_optional(lifted, scope.location(node))
    if isinstance(lifted.shape, SumOf):
        return narrowed(lifted, scope, scope.location(node))
    if isinstance(lifted, Constant) and is_wide(lifted) and not lifted.location:
        return evolve(lifted, location=scope.location(node))
    return lifted


def _lift_node(node: ast.expr, scope: Scope) -> Expr:
    location = scope.location(node)
    match node:
        case ast.Name(id=name) if name in scope.names:
            return scope.names[name]
        case ast.Name() | ast.Constant():
            return _lift_captured(node, scope)
        case ast.Attribute():
            return _lift_attribute(node, scope)
        case ast.Subscript(value=value, slice=index):
            dictionary = scope.resolve(value)
            if isinstance(dictionary, MappingProxyType):
                name = ast.unparse(value)
                return dictionaries.get_value(dictionary, name, lift_expression(index, scope), location)
            return _lift_subscript(node, lift_expression(value, scope), index, scope)
        case ast.BinOp(left=left, op=op, right=right):
            return _lift_binary(op, lift_expression(left, scope), lift_expression(right, scope), location)
        case ast.UnaryOp(op=ast.Not()):
            return lift_condition(node, scope)
        case ast.UnaryOp(op=op, operand=operand):
            return _lift_unary(op, lift_expression(operand, scope), location)
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            return _lift_comparisons([left, *comparators], ops, scope)
        case ast.BoolOp(op=op, values=values):
            return _lift_logical(op, values, scope)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            tested = lift_condition(test, scope)
            then = lift_expression(body, scope.assuming(tested, True))
            return choose(tested, then, lift_expression(orelse, scope.assuming(tested, False)), location)
        case ast.Tuple(elts=elts) | ast.List(elts=elts) if not _has_starred(elts):
            parts = tuple(lift_expression(item, scope) for item in elts)
            return (records.make_tuple if isinstance(node, ast.Tuple) else records.make_list)(parts, location)
        case ast.ListComp(generators=[ast.comprehension(is_async=0)]):
            return _lift_comprehension(node, scope)
        case ast.Call():
            return _lift_call(node, scope)
        case ast.JoinedStr(values=values):
            return _lift_fstring(node, values, scope)
        case _:
            return scope.opaque(node, describe_expression(node))


def lift_condition(node: ast.expr, scope: Scope) -> Expr:
    """Lifts an expression in a boolean context, such as the test of an ``if``."""
    match node:
        case ast.BoolOp(op=op, values=[first, *others]):
            left = lift_condition(first, scope)
            if not others:
                return left
            is_and = isinstance(op, ast.And)
            rest = ast.copy_location(ast.BoolOp(op, others), node)
            right = lift_condition(rest, scope.assuming(left, is_and))
            return (conjunction if is_and else disjunction)(left, right)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return negation(lift_condition(operand, scope), scope.location(node))
        case _:
            return to_bool(_lift_converted(node, scope), scope.location(node))


def _lift_converted(node: ast.expr, scope: Scope) -> Expr:
    """Lifts an expression that is converted to another type, so it may be a scalar of NumPy."""
    match node:
        case ast.Call(func=function, args=[argument], keywords=[]) if not isinstance(argument, ast.Starred):
            lift = numpy_function(scope.resolve(function))
            if lift is not None and (of := _lift_converted(argument, scope)).shape == FLOAT:
                return lift(of, scope.location(node))
        case _:
            pass
    return lift_expression(node, scope)


def _lift_logical(op: ast.boolop, values: Sequence[ast.expr], scope: Scope) -> Expr:
    """Lifts ``and`` and ``or`` as values: the result is the first operand that decides."""
    first, *others = values
    location = scope.location(first)
    left = lift_expression(first, scope)
    if not others:
        return left
    is_and = isinstance(op, ast.And)
    tested = to_bool(left, location)
    right = _lift_logical(op, others, scope.assuming(tested, is_and))
    if left.shape == BOOLEAN:
        kept: Expr = FALSE if is_and else TRUE
    else:
        inside = scope.assuming(tested, not is_and)
        kept = unwrap_optional(left, location) if left in inside.present else left
    return choose(tested, right, kept, location) if is_and else choose(tested, kept, right, location)


def _lift_comprehension(node: ast.ListComp, scope: Scope) -> Expr:
    """Lifts a list comprehension over a list, or over ``enumerate`` of one."""
    [generator] = node.generators
    location = scope.location(node)
    source, first = _enumerated(generator.iter, scope)
    of = lift_expression(source, scope)
    if not isinstance(of.shape, ListOf):
        return scope.opaque(node, f"a comprehension over {of.shape}")
    item: Expr = Item(of.shape.of)
    if first is not None:
        position = Apply(Op.POSITION, (item,), INTEGER, location)
        number = lift_arithmetic(ast.Add(), position, int_constant(first), location) if first else position
        item = records.make_tuple((number, item), location)
    names = _bind_target(generator.target, item, location)
    if names is None:
        return scope.opaque(node, f"the variables {ast.unparse(generator.target)} of {item.shape}")
    inside = evolve(scope, names={**scope.names, **names})
    kept: Expr = TRUE
    for test in generator.ifs:
        tested = lift_condition(test, inside)
        kept = tested if kept == TRUE else conjunction(kept, tested)
        inside = inside.assuming(tested, True)
    result = lift_expression(node.elt, inside)
    if result.shape is None:
        reason = result.reason if isinstance(result, Opaque) else "a comprehension of None"
        return scope.opaque(node, reason)
    return Each(of, kept, result, ListOf(result.shape), location)


def _enumerated(source: ast.expr, scope: Scope) -> tuple[ast.expr, int | None]:
    """Returns what ``enumerate`` counts and its first number; ``None`` for another expression."""
    match source:
        case ast.Call(func=function, args=[inner, *start], keywords=named) if (
            scope.resolve(function) is enumerate
        ):
            numbers = [*start, *(keyword.value for keyword in named if keyword.arg == "start")]
            values = [scope.resolve(number) for number in numbers] or [0]
            if len(values) == 1 and len(start) + len(named) == len(numbers) and type(values[0]) is int:
                return inner, values[0]
    return source, None


def _bind_target(target: ast.expr, value: Expr, location: str) -> dict[str, Expr] | None:
    """Binds a variable, or a tuple of variables, to a value; returns ``None`` if the value has other parts."""
    match target:
        case ast.Name(id=name):
            return {name: value}
        case ast.Tuple(elts=parts) if isinstance(value.shape, TupleOf) and len(parts) == len(
            value.shape.items
        ):
            bound = [
                _bind_target(part, records.get_item(value, index, location), location)
                for index, part in enumerate(parts)
            ]
            return (
                {name: part for bindings in bound if bindings for name, part in bindings.items()}
                if all(bound)
                else None
            )
        case _:
            return None


def _lift_captured(node: ast.expr, scope: Scope) -> Expr:
    value = scope.resolve(node)
    if value is MISSING:
        return scope.opaque(node, f"the name {ast.unparse(node)}, which is not defined")
    lifted = to_constant(value)
    if lifted is None:
        kind: type = type(value)
        shape = shape_of(kind) if record_class(kind) is not None and _has_shape(kind) else None
        reason = _COLLECTIONS.get(kind, f"which has type {kind.__name__} and is not an immutable constant")
        return scope.opaque(node, f"{ast.unparse(node)}, {reason}", shape)
    return lifted


_CHANGING: Final = "that its module does not bind once, to a display, and otherwise only read"
_COLLECTIONS: Final[Mapping[type, str]] = {
    dict: f"a dict {_CHANGING}",
    MappingProxyType: "a dict of which only lookups are lifted",
    set: f"a set {_CHANGING}",
    frozenset: "a set of which only `in` is lifted",
    list: "a mutable list",
}
"""The reasons why a name of a collection has no expression."""


def _has_shape(kind: type) -> bool:
    try:
        shape_of(kind)
    except RecordTypeError:
        return False
    return True


def _lift_attribute(node: ast.Attribute, scope: Scope) -> Expr:
    if scope.resolve(node) is not MISSING:
        return _lift_captured(node, scope)
    return _attribute_of(lift_expression(node.value, scope), node, scope)


def _attribute_of(of: Expr, node: ast.Attribute, scope: Scope) -> Expr:
    location = scope.location(node)
    match of.shape:
        case None:
            return of
        case SumOf():
            return of_each_member(of, lambda member: _attribute_of(member, node, scope), scope, location)
        case MaybeOf() if node.attr == CONTAINED and containers.is_some(of):
            return containers.contained(of)
        case EnumOf():
            return records.enum_attribute(of, node.attr, location)
        case RecordOf(cls=cls):
            field = records.get_field(of, node.attr, location)
            code = records.defined_code(cls, node.attr)
            if field is not None:
                return field
            if isinstance(code, property) and isinstance(code.fget, FunctionType):
                return scope.inline(code.fget, (of,), {}, scope.inside)
            if not scope.tests_types:
                records.require_attribute(of, node.attr, location)
            return scope.opaque(node, f"{of.shape}.{node.attr}, which is not a plain field")
        case _ if times.is_time(of):
            return times.lift_attribute(of, node.attr, location)
        case _:
            return scope.opaque(node, f"the attribute {node.attr} of {of.shape}")


def _lift_subscript(node: ast.Subscript, of: Expr, index: ast.expr, scope: Scope) -> Expr:
    location = scope.location(node)
    match index:
        case _ if isinstance(of, Match):
            error = "TypeError: 'NoneType' object is not subscriptable"
            return _lift_group(of, scope.resolve(index), error, scope, location)
        case _ if isinstance(of, Opaque) and of.shape is None:
            return of
        case ast.Slice(lower=lower, upper=upper, step=None) if of.shape == TEXT:
            start, stop = _constant_bound(lower, scope), _constant_bound(upper, scope)
            if start is not MISSING and stop is not MISSING:
                return strings.slice_string(
                    of,
                    start if isinstance(start, int) else None,
                    stop if isinstance(stop, int) else None,
                    location,
                )
            return scope.opaque(node, "a slice with bounds that are not constant", TEXT)
        case ast.Slice():
            return scope.opaque(node, f"a slice of {of.shape}", of.shape if of.shape == TEXT else None)
        case _ if isinstance(of.shape, MapOf):
            return mappings.get_value(of.shape, of, lift_expression(index, scope), location)
        case _:
            at = scope.resolve(index)
            if type(at) is int and of.shape != TEXT:
                return records.get_item(of, at, location)
            return _lift_index(
                of, int_constant(at) if type(at) is int else lift_expression(index, scope), location
            )


def _lift_group(of: Match, number: object, error: str, scope: Scope, location: str) -> Expr:
    """Lifts a group of a match, which fails with an error if there may be no match."""
    return of.group(number, "" if of.found in scope.present else error, location)


def _lift_index(of: Expr, index: Expr, location: str) -> Expr:
    """Lifts ``of[index]`` of a text or a list."""
    opaque = first_opaque(index)
    shape = of.shape.of if isinstance(of.shape, ListOf) else TEXT if of.shape == TEXT else None
    if opaque is not None:
        return Opaque(shape, opaque.reason, opaque.location)
    if shape is None or index.shape not in (INTEGER, BOOLEAN):
        return Opaque(None, f"an item of {of.shape} at an index of type {index.shape}", location)
    op = Op.CHARACTER if of.shape == TEXT else Op.ITEM
    return Apply(op, (of, to_int(index)), shape, location)


def _constant_bound(node: ast.expr | None, scope: Scope) -> object:
    """Returns the constant bound of a slice, an integer or ``None``; ``MISSING`` if it is not constant."""
    value = None if node is None else scope.resolve(node)
    return value if value is None or (type(value) is int and abs(value) < 2**31) else MISSING


def _lift_binary(operator: ast.operator, left: Expr, right: Expr, location: str) -> Expr:
    for operand in (left, right):
        if isinstance(operand, Opaque) and operand.shape is None:
            return operand
    if is_number(left) and is_number(right):
        return lift_arithmetic(operator, left, right, location)
    if times.is_time(left) or times.is_time(right):
        return times.time_arithmetic(operator, left, right, location)
    textual = left.shape == TEXT and isinstance(operator, ast.Add | ast.Mod)
    if textual and right.shape == TEXT and isinstance(operator, ast.Add):
        return strings.concatenate((left, right), location)
    reason = f"`{symbol_of(operator)}` of {left.shape} and {right.shape}"
    return Opaque(TEXT if textual else None, reason, location)


def _lift_unary(operator: ast.unaryop, of: Expr, location: str) -> Expr:
    if isinstance(of, Opaque) and of.shape is None:
        return of
    if isinstance(operator, ast.USub) and of.shape == DURATION:
        return times.negate_duration(of, location)
    if is_number(of) and isinstance(operator, ast.USub):
        return negate(of, location)
    return Opaque(None, f"`{symbol_of(operator)}` of {of.shape}", location)


def _lift_comparisons(operands: Sequence[ast.expr], ops: Sequence[ast.cmpop], scope: Scope) -> Expr:
    pairs = [
        _lift_comparison(left, op, right, scope)
        for left, op, right in zip(operands, ops, operands[1:], strict=False)
    ]
    lifted = pairs[-1]
    for pair in reversed(pairs[:-1]):
        lifted = conjunction(pair, lifted)
    return lifted


def _lift_comparison(left: ast.expr, operator: ast.cmpop, right: ast.expr, scope: Scope) -> Expr:
    location = scope.location(right)
    of = lift_expression(left, scope)
    if isinstance(operator, ast.In | ast.NotIn):
        test = _lift_membership(of, right, scope)
        return negation(test, location) if isinstance(operator, ast.NotIn) else test
    other = lift_expression(right, scope)
    if isinstance(operator, ast.Is | ast.IsNot):
        test = _lift_identity(of, other, location)
        return negation(test, location) if isinstance(operator, ast.IsNot) else test
    for operand in (of, other):
        if isinstance(operand, Opaque) and operand.shape is None:
            return Opaque(BOOLEAN, operand.reason, operand.location)
    return compare(operator, of, other, location)


def _lift_identity(of: Expr, other: Expr, location: str) -> Expr:
    """Lifts ``is`` with ``None``, ``Nothing``, booleans and enum members; Python implementations differ in others."""
    for operand, another in ((of, other), (other, of)):
        if isinstance(another, Constant) and another.value is None:
            return is_none(operand, location)
        if containers.is_constant_nothing(another):
            return is_nothing(operand, location)
    if of.shape == other.shape and of.shape is not None:
        identical = isinstance(of.shape, EnumOf) and is_plain(of.shape.cls)
        if identical or of.shape == BOOLEAN:
            return Apply(Op.EQUAL, (of, other), BOOLEAN, location)
    return Opaque(BOOLEAN, f"`is` of {of.shape} and {other.shape}", location)


def _lift_membership(of: Expr, container: ast.expr, scope: Scope) -> Expr:
    location = scope.location(container)
    if isinstance(of, Opaque) and of.shape is None:
        return Opaque(BOOLEAN, of.reason, of.location)
    if isinstance(container, ast.Tuple | ast.List | ast.Set) and not _has_starred(container.elts):
        return is_one_of(of, [lift_expression(item, scope) for item in container.elts], location)
    captured = scope.resolve(container)
    if isinstance(captured, MappingProxyType):
        return dictionaries.has_key(captured, ast.unparse(container), of, location)
    if isinstance(captured, tuple | frozenset) and type(captured) in (tuple, frozenset):
        items = [to_constant(item) for item in sorted(captured, key=repr)]
        constants = [item for item in items if item is not None]
        if len(constants) == len(items):
            return is_one_of(of, constants, location)
    if isinstance(captured, list | set | dict):
        name = ast.unparse(container)
        reason = _COLLECTIONS.get(type(captured), f"a mutable {type(captured).__name__}")
        return scope.opaque(container, f"{name}, {reason}", BOOLEAN)
    return is_member(of, lift_expression(container, scope), location)


def _lift_fstring(node: ast.JoinedStr, values: Sequence[ast.expr], scope: Scope) -> Expr:
    """Lifts an f-string: without conversions, and with formats that only fill up or write a time."""
    parts: list[Expr] = []
    for value_node in values:
        match value_node:
            case ast.Constant(value=str() as value):
                text = to_constant(value)
                if text is None:
                    return scope.opaque(node, "an f-string with a lone surrogate", TEXT)
                parts.append(text)
            case ast.FormattedValue(value=inner, conversion=-1 | 115, format_spec=None):
                parts.append(strings.to_string(lift_expression(inner, scope), scope.location(inner)))
            case ast.FormattedValue(
                value=inner, conversion=-1, format_spec=ast.JoinedStr(values=[ast.Constant(value=str(spec))])
            ) if (
                formatted := formats.lift_format(lift_expression(inner, scope), spec, scope.location(inner))
            ) is not None:
                parts.append(formatted)
            case _:
                return scope.opaque(node, "an f-string with a format or conversion", TEXT)
    return strings.concatenate(parts, scope.location(node)) if parts else strings.string_constant("")


def _has_starred(nodes: Sequence[ast.expr]) -> bool:
    return any(isinstance(node, ast.Starred) for node in nodes)


def _lift_call(node: ast.Call, scope: Scope) -> Expr:
    if _has_starred(node.args) or any(keyword.arg is None for keyword in node.keywords):
        return scope.opaque(node, f"a call of {ast.unparse(node.func)} with unpacked arguments")
    target = scope.resolve(node.func)
    constructed = scope.resolve(node.func.value) if isinstance(node.func, ast.Subscript) else target
    if isinstance(constructed, type) and constructed in scope.constructors:
        return scope.constructors[constructed](node, scope)
    is_method = isinstance(node.func, ast.Attribute) and target is MISSING
    owner = scope.resolve(node.func.value) if isinstance(node.func, ast.Attribute) and is_method else None
    of = None
    if isinstance(node.func, ast.Attribute) and owner is MISSING:
        of = lift_expression(node.func.value, scope)
        if containers.is_container(of.shape) and not node.keywords and len(node.args) < 2:
            return containers.lift_method(node.func.attr, of, _argument(node, scope), scope.location(node))
    if isinstance(target, type) and target in builtin_calls.FOLDED:
        made = _construct_constant(target, node, scope)
        if made is not None:
            return made
    lift = _lift_converted if target in (float, int, bool) else lift_expression
    args = tuple(lift(arg, scope) for arg in node.args)
    named: Mapping[str, Expr] = {
        str(keyword.arg): lift_expression(keyword.value, scope) for keyword in node.keywords
    }
    location = scope.location(node)
    if isinstance(node.func, ast.Attribute) and is_method:
        if isinstance(owner, re.Pattern) and isinstance(owner.pattern, str) and not named:
            return _lift_pattern(owner, node.func.attr, args, location)
        if isinstance(owner, MappingProxyType) and not named:
            return dictionaries.lift_method(
                owner, ast.unparse(node.func.value), node.func.attr, args, location
            )
        of = lift_expression(node.func.value, scope) if of is None else of
        return _lift_method(node.func, of, args, named, scope)
    if target is isinstance and len(node.args) == 2 and not node.keywords:
        tested = _lift_isinstance(args[0], node.args[1], scope, location)
        if tested is not None:
            return tested
    return _call(target, args, named, node, scope)


def _argument(node: ast.Call, scope: Scope) -> containers.Argument:
    """Returns the argument of a method of a container."""
    if not node.args:
        nothing = scope.opaque(node, f"{ast.unparse(node.func)} without an argument")
        return containers.Argument(lambda: nothing, lambda _: nothing)
    [argument] = node.args

    def call(args: tuple[Expr, ...]) -> Expr:
        if isinstance(argument, ast.Lambda):
            return _inline_lambda(argument, args, scope)
        return _call(scope.resolve(argument), args, {}, argument, scope)

    return containers.Argument(lambda: lift_expression(argument, scope), call)


def _inline_lambda(node: ast.Lambda, args: tuple[Expr, ...], scope: Scope) -> Expr:
    """Lifts the result of a lambda at its arguments."""
    parameters = [parameter.arg for parameter in (*node.args.posonlyargs, *node.args.args)]
    others = (*node.args.kwonlyargs, node.args.vararg, node.args.kwarg, *node.args.defaults)
    if len(parameters) != len(args) or any(other is not None for other in others):
        return scope.opaque(node, f"a lambda of other than {len(args)} arguments")
    names = dict(zip(parameters, args, strict=True))
    result = lift_expression(node.body, evolve(scope, names={**scope.names, **names}))
    for name, value in names.items():
        if can_fail(value) and value not in always_evaluated(result):
            reason = f"the argument {name}, which may fail and is not always used"
            return scope.opaque(node, reason, result.shape)
    return result


def _call(
    target: object, args: tuple[Expr, ...], named: Mapping[str, Expr], node: ast.expr, scope: Scope
) -> Expr:
    """Lifts a call of a value; ``node`` is the call, or the function where its arguments are elsewhere."""
    location, title = scope.location(node), ast.unparse(node.func if isinstance(node, ast.Call) else node)
    target, args, named = without_partial(target, args, named) or (target, args, named)
    if len(args) == 1 and not named:
        made = containers.lift_call(target, args[0], location)
        if made is not None:
            return made
    pattern = None if named else patterns.pattern_of(target, args)
    if pattern is not None:
        return _lift_pattern(pattern, getattr(target, "__name__", ""), args[1:], location)
    lifted = builtin_calls.lift_builtin_call(target, args, named, location)
    if lifted is not None:
        return lifted
    if isinstance(target, type) and record_class(target) is not None:
        return records.construct(target, args, named, location)
    if isinstance(target, FunctionType):
        inlined = scope.inline(target, args, named, scope.inside)
        opaque = first_opaque(inlined)
        if opaque is None:
            return inlined
        if not _is_of_library(target):
            is_built = isinstance(inlined, Build | Each)
            called = None if is_built else _as_call(evolve(opaque, shape=inlined.shape), target, args, named)
            return called or inlined
    shape = builtin_calls.result_shape(target) or annotated_shape(target)
    opaque = scope.opaque(node, f"a call of {title}", shape)
    return _as_call(opaque, target, args, named) or opaque


def _lift_isinstance(of: Expr, classes: ast.expr, scope: Scope, location: str) -> Expr | None:
    """Lifts ``isinstance`` with a class, or a tuple or union of classes; ``None`` if its columns do not decide."""
    match classes:
        case ast.Tuple(elts=several):
            named = [scope.resolve(cls) for cls in several]
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            named = [scope.resolve(cls) for cls in (left, right)]
        case _:
            resolved = scope.resolve(classes)
            named = list(resolved) if isinstance(resolved, tuple) else [resolved]
    found = tuple(NoneType if cls is None else cls for cls in named)
    plain = tuple(filter(has_plain_instances, found))
    return is_instance(of, plain, location, scope.absent) if len(plain) == len(found) else None


def _lift_pattern(pattern: re.Pattern[str], name: str, args: tuple[Expr, ...], location: str) -> Expr:
    lifted = patterns.lift_method(pattern, name, args, location)
    if not isinstance(lifted, Opaque) or lifted.shape is None:
        return lifted
    return _as_call(lifted, getattr(pattern, name), args, {}) or lifted


_LIBRARIES: Final = sys.stdlib_module_names | {"attr"}
"""Modules whose functions are lifted completely or not at all, since a reason names a line of the user's functions."""


def _is_of_library(f: FunctionType) -> bool:
    return f.__module__.partition(".")[0] in _LIBRARIES


def _as_call(
    opaque: Opaque, target: object, args: tuple[Expr, ...], named: Mapping[str, Expr]
) -> Opaque | None:
    """Returns the same with the call that computes it, if its result has a known type and its arguments are columns."""
    if target is MISSING or not callable(target) or named or not args or opaque.shape is None:
        return None
    return evolve(opaque, call=PythonCall(target, args)) if all(map(is_column, args)) else None


def _construct_constant(cls: type, node: ast.Call, scope: Scope) -> Expr | None:
    """Evaluates a constructor of a time or decimal whose arguments are all constants."""
    args = [scope.resolve(arg) for arg in node.args]
    named = {str(keyword.arg): scope.resolve(keyword.value) for keyword in node.keywords}
    if MISSING in args or MISSING in named.values():
        return None
    return builtin_calls.construct_constant(cls, tuple(args), named)


def _lift_method(
    function: ast.Attribute, of: Expr, args: tuple[Expr, ...], named: Mapping[str, Expr], scope: Scope
) -> Expr:
    name = function.attr
    location = scope.location(function)
    match of.shape:
        case None if isinstance(of, Match) and name == "group" and not named and len(args) < 2:
            number = args[0].value if args and isinstance(args[0], Constant) else None if args else 0
            error = "AttributeError: 'NoneType' object has no attribute 'group'"
            return _lift_group(of, number, error, scope, location)
        case None:
            return of
        case shape if shape == TEXT and not named:
            predicate = patterns.lift_predicate(name, of, args, location)
            return predicate or strings.lift_method(name, of, args, location)
        case RecordOf(cls=cls):
            code = records.defined_code(cls, name)
            if isinstance(code, FunctionType) and records.get_field(of, name, location) is None:
                return scope.inline(code, (of, *args), named, scope.inside)
            if not scope.tests_types:
                records.require_attribute(of, name, location)
            return scope.opaque(function, f"the method {name} of {of.shape}")
        case MapOf() as mapping if not named:
            return mappings.lift_method(name, mapping, of, args, location)
        case _ if times.is_time(of):
            layout = (
                strings.constant_string(args[0])
                if name == "strftime" and len(args) == 1 and not named
                else None
            )
            written = None if layout is None else formats.format_time(of, layout, location)
            return times.lift_method(name, of, args, named, location) if written is None else written
        case _:
            return scope.opaque(function, f"the method {name} of {of.shape}")


def annotated_shape(f: object) -> Shape | None:
    """Returns the shape of a function's return annotation if it is an element type."""
    if not callable(f) or is_safe(f):
        return None
    try:
        hint = get_type_hints(f.func if isinstance(f, partial) else f).get("return")
        return None if hint is None else shape_of(hint)
    except (NameError, TypeError, RecordTypeError):
        return None


def annotated_items(f: object) -> Shape | None:
    """Returns the shape of the items of the iterable that a function is annotated to return, if it has one."""
    if not callable(f):
        return None
    try:
        hint = get_type_hints(f).get("return")
        origin, arguments = get_origin(hint), get_args(hint)
        if not isinstance(origin, type) or origin.__module__ not in ("builtins", "collections.abc"):
            return None
        if not issubclass(origin, Iterable) or issubclass(origin, Mapping):
            return None
        if origin is tuple and arguments[1:] != (Ellipsis,):
            return None
        return shape_of(arguments[0])
    except (NameError, TypeError, RecordTypeError):
        return None
