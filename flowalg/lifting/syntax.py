"""From syntax to an expression: a whitelist, in which anything unknown becomes opaque.

An opaque part may still have a known shape (an f-string is text), so that engines with schemas know the type of
what Python computes. Soundness is the rule: an expression without opaque parts means exactly what the function
does, errors included.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from types import FunctionType
from typing import get_type_hints

import attrs

from flowalg.data.errors import RecordTypeError
from flowalg.data.shapes import BOOLEAN, DURATION, TEXT, EnumOf, OptionalOf, RecordOf, Shape, shape_of
from flowalg.lifting import calls
from flowalg.lifting.operations import records, texts, times
from flowalg.lifting.operations.choices import choose, truth
from flowalg.lifting.operations.comparisons import compared, is_none, present
from flowalg.lifting.operations.conversions import is_number
from flowalg.lifting.operations.membership import member, one_of
from flowalg.lifting.operations.numbers import arithmetic, negative
from flowalg.lifting.python.captured import MISSING, constant_of
from flowalg.lifting.python.enums import is_plain
from flowalg.lifting.python.scope import Scope
from flowalg.lifting.tree.expressions import (
    FALSE,
    TRUE,
    Apply,
    Constant,
    Expr,
    Opaque,
    both,
    either,
    negation,
)
from flowalg.lifting.tree.primitives import Op


def expression(node: ast.expr, scope: Scope) -> Expr:
    """What a piece of syntax computes; an optional that has a value here has the shape of that value."""
    lifted = _expression(node, scope)
    if isinstance(lifted.shape, OptionalOf) and lifted in scope.present:
        return present(lifted, scope.place(node))
    return lifted


def _expression(node: ast.expr, scope: Scope) -> Expr:
    place = scope.place(node)
    match node:
        case ast.Name(id=name) if name in scope.names:
            return scope.names[name]
        case ast.Name() | ast.Constant():
            return _captured(node, scope)
        case ast.Attribute():
            return _attribute(node, scope)
        case ast.Subscript(value=value, slice=index):
            return _item(node, expression(value, scope), index, scope)
        case ast.BinOp(left=left, op=op, right=right):
            return _arithmetic(op, expression(left, scope), expression(right, scope), place)
        case ast.UnaryOp(op=ast.Not()):
            return condition(node, scope)
        case ast.UnaryOp(op=op, operand=operand):
            return _signed(op, expression(operand, scope), place)
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            return _comparisons([left, *comparators], ops, scope)
        case ast.BoolOp(op=op, values=values):
            return _logical(op, values, scope)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            tested = condition(test, scope)
            then = expression(body, scope.given(tested, True))
            return choose(tested, then, expression(orelse, scope.given(tested, False)), place)
        case ast.Tuple(elts=elts) | ast.List(elts=elts) if not _any_starred(elts):
            parts = tuple(expression(item, scope) for item in elts)
            return (records.tuple_of if isinstance(node, ast.Tuple) else records.list_of)(parts, place)
        case ast.Call():
            return _call(node, scope)
        case ast.JoinedStr(values=values):
            return _joined(node, values, scope)
        case _:
            return scope.opaque(node, f"{type(node).__name__}, which is not lifted")


def condition(node: ast.expr, scope: Scope) -> Expr:
    """Whether a piece of syntax counts as true where it is tested."""
    match node:
        case ast.BoolOp(op=op, values=[first, *others]):
            left = condition(first, scope)
            if not others:
                return left
            is_and = isinstance(op, ast.And)
            rest = ast.copy_location(ast.BoolOp(op, others), node)
            right = condition(rest, scope.given(left, is_and))
            return (both if is_and else either)(left, right)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return negation(condition(operand, scope), scope.place(node))
        case _:
            return truth(expression(node, scope), scope.place(node))


def _logical(op: ast.boolop, values: Sequence[ast.expr], scope: Scope) -> Expr:
    """``and`` and ``or`` as values: one of the operands, the first that decides."""
    first, *others = values
    place = scope.place(first)
    left = expression(first, scope)
    if not others:
        return left
    is_and = isinstance(op, ast.And)
    tested = truth(left, place)
    right = _logical(op, others, scope.given(tested, is_and))
    if left.shape == BOOLEAN:
        kept: Expr = FALSE if is_and else TRUE
    else:
        inside = scope.given(tested, not is_and)
        kept = present(left, place) if left in inside.present else left
    return choose(tested, right, kept, place) if is_and else choose(tested, kept, right, place)


def _captured(node: ast.expr, scope: Scope) -> Expr:
    value = scope.resolve(node)
    if value is MISSING:
        return scope.opaque(node, f"the name {ast.unparse(node)}, which is not bound")
    lifted = constant_of(value)
    if lifted is None:
        kind = type(value)
        shape = shape_of(kind) if attrs.has(kind) and _has_shape(kind) else None
        return scope.opaque(
            node, f"{ast.unparse(node)}, which is a {kind.__name__} and not an immutable constant", shape
        )
    return lifted


def _has_shape(kind: type) -> bool:
    try:
        shape_of(kind)
    except RecordTypeError:
        return False
    return True


def _attribute(node: ast.Attribute, scope: Scope) -> Expr:
    if scope.resolve(node) is not MISSING:
        return _captured(node, scope)
    of = expression(node.value, scope)
    place = scope.place(node)
    match of.shape:
        case None:
            return of
        case EnumOf():
            return records.enum_attribute(of, node.attr, place)
        case RecordOf(cls=cls):
            found = records.field(of, node.attr, place)
            code = records.own_code(cls, node.attr)
            if found is not None:
                return found
            if isinstance(code, property) and isinstance(code.fget, FunctionType):
                return scope.inline(code.fget, (of,), {}, scope.inside)
            return scope.opaque(node, f"{of.shape} has no plain field {node.attr}")
        case _ if times.is_time(of):
            return times.attribute(of, node.attr, place)
        case _:
            return scope.opaque(node, f"the attribute {node.attr} of a {of.shape}")


def _item(node: ast.Subscript, of: Expr, index: ast.expr, scope: Scope) -> Expr:
    place = scope.place(node)
    match index:
        case _ if isinstance(of, Opaque) and of.shape is None:
            return of
        case ast.Slice(lower=lower, upper=upper, step=None) if of.shape == TEXT:
            start, stop = _bound(lower, scope), _bound(upper, scope)
            if start is not MISSING and stop is not MISSING:
                return texts.sliced(
                    of,
                    start if isinstance(start, int) else None,
                    stop if isinstance(stop, int) else None,
                    place,
                )
            return scope.opaque(node, "a slice whose bounds are no constants", TEXT)
        case ast.Slice():
            return scope.opaque(node, f"a slice of a {of.shape}", of.shape if of.shape == TEXT else None)
        case _:
            at = scope.resolve(index)
            if type(at) is not int:
                return scope.opaque(node, f"an item of a {of.shape} at an index that is no constant")
            return texts.character(of, at, place) if of.shape == TEXT else records.item(of, at, place)


def _bound(node: ast.expr | None, scope: Scope) -> object:
    """The bound of a slice: an integer or ``None``, and ``MISSING`` for any other."""
    value = None if node is None else scope.resolve(node)
    return value if value is None or (type(value) is int and abs(value) < 2**31) else MISSING


def _arithmetic(operator: ast.operator, left: Expr, right: Expr, place: str) -> Expr:
    for one in (left, right):
        if isinstance(one, Opaque) and one.shape is None:
            return one
    if is_number(left) and is_number(right):
        return arithmetic(operator, left, right, place)
    if times.is_time(left) or times.is_time(right):
        return times.arithmetic_of_times(operator, left, right, place)
    textual = left.shape == TEXT and isinstance(operator, ast.Add | ast.Mod)
    if textual and right.shape == TEXT and isinstance(operator, ast.Add):
        return texts.concatenated((left, right), place)
    reason = f"{type(operator).__name__} of {left.shape} and {right.shape}"
    return Opaque(TEXT if textual else None, reason, place)


def _signed(operator: ast.unaryop, of: Expr, place: str) -> Expr:
    if isinstance(of, Opaque) and of.shape is None:
        return of
    if isinstance(operator, ast.USub) and of.shape == DURATION:
        return times.negative_duration(of, place)
    if is_number(of) and isinstance(operator, ast.USub):
        return negative(of, place)
    return Opaque(None, f"{type(operator).__name__} of a {of.shape}", place)


def _comparisons(operands: Sequence[ast.expr], ops: Sequence[ast.cmpop], scope: Scope) -> Expr:
    pairs = [
        _comparison(left, op, right, scope)
        for left, op, right in zip(operands, ops, operands[1:], strict=False)
    ]
    lifted = pairs[-1]
    for pair in reversed(pairs[:-1]):
        lifted = both(pair, lifted)
    return lifted


def _comparison(left: ast.expr, operator: ast.cmpop, right: ast.expr, scope: Scope) -> Expr:
    place = scope.place(right)
    of = expression(left, scope)
    if isinstance(operator, ast.In | ast.NotIn):
        test = _membership(of, right, scope)
        return negation(test, place) if isinstance(operator, ast.NotIn) else test
    other = expression(right, scope)
    if isinstance(operator, ast.Is | ast.IsNot):
        test = _identity(of, other, place)
        return negation(test, place) if isinstance(operator, ast.IsNot) else test
    for one in (of, other):
        if isinstance(one, Opaque) and one.shape is None:
            return Opaque(BOOLEAN, one.reason, one.place)
    return compared(operator, of, other, place)


def _identity(of: Expr, other: Expr, place: str) -> Expr:
    """``is``, with ``None``, with a boolean, and of members of an enum; anything else depends on the interpreter."""
    for one, another in ((of, other), (other, of)):
        if isinstance(another, Constant) and another.value is None:
            return is_none(one, place)
    if of.shape == other.shape and of.shape is not None:
        identical = isinstance(of.shape, EnumOf) and is_plain(of.shape.cls)
        if identical or of.shape == BOOLEAN:
            return Apply(Op.EQUAL, (of, other), BOOLEAN, place)
    return Opaque(BOOLEAN, f"`is` of {of.shape} and {other.shape}", place)


def _membership(of: Expr, container: ast.expr, scope: Scope) -> Expr:
    place = scope.place(container)
    if isinstance(of, Opaque) and of.shape is None:
        return Opaque(BOOLEAN, of.reason, of.place)
    if isinstance(container, ast.Tuple | ast.List | ast.Set) and not _any_starred(container.elts):
        return one_of(of, [expression(item, scope) for item in container.elts], place)
    captured = scope.resolve(container)
    if isinstance(captured, tuple | frozenset) and type(captured) in (tuple, frozenset):
        items = [constant_of(one) for one in sorted(captured, key=repr)]
        known = [item for item in items if item is not None]
        if len(known) == len(items):
            return one_of(of, known, place)
    if isinstance(captured, list | set | dict):
        name = ast.unparse(container)
        return scope.opaque(container, f"{name}, a {type(captured).__name__}, which may change", BOOLEAN)
    return member(of, expression(container, scope), place)


def _joined(node: ast.JoinedStr, values: Sequence[ast.expr], scope: Scope) -> Expr:
    """An f-string."""
    parts: list[Expr] = []
    for one in values:
        match one:
            case ast.Constant(value=str() as value):
                parts.append(texts.text(value))
            case ast.FormattedValue(value=inner, conversion=-1 | 115, format_spec=None):
                parts.append(texts.as_text(expression(inner, scope), scope.place(inner)))
            case _:
                return scope.opaque(node, "an f-string with a format or a conversion", TEXT)
    return texts.concatenated(parts, scope.place(node)) if parts else texts.text("")


def _any_starred(nodes: Sequence[ast.expr]) -> bool:
    return any(isinstance(node, ast.Starred) for node in nodes)


def _call(node: ast.Call, scope: Scope) -> Expr:
    if _any_starred(node.args) or any(keyword.arg is None for keyword in node.keywords):
        return scope.opaque(node, f"a call of {ast.unparse(node.func)} with unpacked arguments")
    target = scope.resolve(node.func)
    if isinstance(target, type) and target in calls.FOLDED:
        made = _folded(target, node, scope)
        if made is not None:
            return made
    args = tuple(expression(arg, scope) for arg in node.args)
    named = {str(keyword.arg): expression(keyword.value, scope) for keyword in node.keywords}
    place = scope.place(node)
    if isinstance(node.func, ast.Attribute) and target is MISSING:
        return _method(node.func, expression(node.func.value, scope), args, named, scope)
    lifted = calls.builtin_call(target, args, named, place)
    if lifted is not None:
        return lifted
    if isinstance(target, type) and attrs.has(target):
        return records.construct(target, args, named, place)
    if isinstance(target, FunctionType):
        return scope.inline(target, args, named, scope.inside)
    known = calls.known_result(target) or annotated(target)
    return scope.opaque(node, f"a call of {ast.unparse(node.func)}", known)


def _folded(cls: type, node: ast.Call, scope: Scope) -> Expr | None:
    """A time or decimal that is made of constants alone."""
    args = [scope.resolve(arg) for arg in node.args]
    named = {str(keyword.arg): scope.resolve(keyword.value) for keyword in node.keywords}
    if MISSING in args or MISSING in named.values():
        return None
    return calls.folded(cls, tuple(args), named)


def _method(
    function: ast.Attribute, of: Expr, args: tuple[Expr, ...], named: dict[str, Expr], scope: Scope
) -> Expr:
    name = function.attr
    place = scope.place(function)
    match of.shape:
        case None:
            return of
        case shape if shape == TEXT and not named:
            return texts.method(name, of, args, place)
        case RecordOf(cls=cls):
            code = records.own_code(cls, name)
            if isinstance(code, FunctionType) and records.field(of, name, place) is None:
                return scope.inline(code, (of, *args), named, scope.inside)
            return scope.opaque(function, f"the method {name} of {of.shape}")
        case _ if times.is_time(of):
            return times.method(name, of, args, named, place)
        case _:
            return scope.opaque(function, f"the method {name} of a {of.shape}")


def annotated(f: object) -> Shape | None:
    """The shape of a function's annotated result, if it says one that is an element type."""
    if not callable(f):
        return None
    try:
        hint = get_type_hints(f).get("return")
        return None if hint is None else shape_of(hint)
    except (NameError, TypeError, RecordTypeError):
        return None


__all__ = ["annotated", "condition", "expression"]
