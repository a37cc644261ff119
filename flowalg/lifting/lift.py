"""From the syntax of a function to an expression: a whitelist, in which anything unknown becomes opaque.

An opaque part may still have a known shape (an f-string is text), so that engines with schemas know the type of
what Python computes. Soundness is the rule: an expression without opaque parts means exactly what the function
does, errors included.
"""

from __future__ import annotations

import ast
import inspect
import types
from collections.abc import Callable, Mapping
from datetime import datetime
from enum import Enum
from typing import Final, get_type_hints

import attrs
from attrs import frozen
from returns.result import Failure, Success

from flowalg.errors import RecordTypeError
from flowalg.functions import Call, place_of
from flowalg.kv import KV
from flowalg.lifting.attributes import plain_attribute
from flowalg.lifting.expressions import (
    EXACT_BOUND,
    INTEGER_BOUND,
    Arithmetic,
    ArithmeticOp,
    Build,
    Choice,
    Comparison,
    ComparisonOp,
    Constant,
    Expr,
    IsNone,
    Logical,
    Negative,
    Not,
    Opaque,
    Part,
    bound,
    can_raise,
    opaque_part,
)
from flowalg.lifting.source import syntax_of
from flowalg.shapes import (
    BOOLEAN,
    DAY,
    FLOAT,
    INTEGER,
    TEXT,
    TIMESTAMP,
    ListOf,
    OptionalOf,
    RecordOf,
    Scalar,
    Shape,
    TupleOf,
    kv_of,
    shape_of,
)

_ARITHMETIC: Final[Mapping[type[ast.operator], ArithmeticOp]] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
}
_COMPARISONS: Final[Mapping[type[ast.cmpop], ComparisonOp]] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_TOTALLY_ORDERED: Final = (INTEGER, TEXT, DAY, TIMESTAMP)
_COMPARABLE: Final = (*_TOTALLY_ORDERED, BOOLEAN)
_TEXT_METHODS: Final = frozenset(
    {"upper", "lower", "strip", "title", "replace", "capitalize", "join", "format"}
)
_BUILTIN_RESULTS: Final[Mapping[object, Shape]] = {
    len: INTEGER,
    str: TEXT,
    int: INTEGER,
    float: FLOAT,
    bool: BOOLEAN,
}
_MISSING: Final = object()


def lift(call: Call, arguments: tuple[Expr, ...]) -> Expr:
    """The expression that ``call`` computes from the arguments; opaque where only Python can."""
    result = _declared(call)
    lifted = _lift(call.f, arguments)
    if isinstance(lifted, Opaque) and result is not None:
        return attrs.evolve(lifted, shape=result)
    if result is not None and lifted.shape is not None and lifted.shape != result:
        return Opaque(result, f"its result is {lifted.shape}, declared as {result}", place_of(call.f))
    return lifted


def _declared(call: Call) -> Shape | None:
    if call.result is not None:
        return shape_of(call.result, where=f"the result of {place_of(call.f)}")
    return None


def _lift(f: Callable[..., object], arguments: tuple[Expr, ...]) -> Expr:
    place = place_of(f)
    if isinstance(f, type):
        return _construct(f, arguments, {}, place)
    match syntax_of(f):
        case Success(ast.Lambda() as syntax):
            body: ast.expr | None = syntax.body
        case Success(ast.FunctionDef() as syntax):
            body = _only_return(syntax)
        case Failure(reason):
            return Opaque(_annotated(f), str(reason), place)
        case _:
            return Opaque(_annotated(f), "its source is not available", place)
    names = [one.arg for one in (*syntax.args.posonlyargs, *syntax.args.args)]
    if len(names) != len(arguments):
        return Opaque(_annotated(f), f"it takes {len(names)} arguments, not {len(arguments)}", place)
    if body is None:
        return Opaque(_annotated(f), "it is more than one return statement", place)
    lifted = _Lifter(dict(zip(names, arguments, strict=True)), f, place).expression(body)
    if lifted.shape is None and isinstance(lifted, Opaque):
        return attrs.evolve(lifted, shape=_annotated(f))
    return lifted


def _only_return(syntax: ast.FunctionDef) -> ast.expr | None:
    match syntax.body:
        case [ast.Return(value=value)] | [ast.Expr(ast.Constant(str())), ast.Return(value=value)]:
            return value
        case _:
            return None


def _annotated(f: Callable[..., object]) -> Shape | None:
    """The shape of a function's annotated result, if it says one that is an element type."""
    try:
        hint = get_type_hints(f).get("return")
        return None if hint is None else shape_of(hint)
    except (NameError, TypeError, RecordTypeError):
        return None


@frozen
class _Lifter:
    names: Mapping[str, Expr]
    f: Callable[..., object]
    function_place: str

    def place(self, node: ast.expr) -> str:
        name, separator, line = self.function_place.rpartition(":")
        return f"{name}:{node.lineno}" if separator and line.isdigit() else self.function_place

    def opaque(self, node: ast.expr, reason: str, shape: Shape | None = None) -> Opaque:
        return Opaque(shape, reason, self.place(node))

    def expression(self, node: ast.expr) -> Expr:
        match node:
            case ast.Name(id=name):
                return self.names[name] if name in self.names else self.captured(node)
            case ast.Constant(value=value):
                return self.constant(node, value)
            case ast.Attribute():
                return self.attribute(node)
            case ast.Subscript(value=value, slice=ast.Constant(value=int() as index)):
                return self.item(node, self.expression(value), index)
            case ast.BinOp(left=left, op=op, right=right):
                return self.arithmetic(node, op, self.expression(left), self.expression(right))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self.negative(node, self.expression(operand))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                of = self.expression(operand)
                return Not(of) if of.shape == BOOLEAN else self.opaque(node, "`not` of a non-bool", BOOLEAN)
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                return self.comparisons(node, [left, *comparators], ops)
            case ast.BoolOp(op=op, values=values):
                return self.logical(node, "and" if isinstance(op, ast.And) else "or", values)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.choice(
                    node, self.expression(test), self.expression(body), self.expression(orelse)
                )
            case ast.Tuple(elts=elts) if not any(isinstance(one, ast.Starred) for one in elts):
                return self.tuple_of(node, tuple(self.expression(one) for one in elts))
            case ast.Call():
                return self.call(node)
            case ast.JoinedStr():
                return self.opaque(node, "an f-string", TEXT)
            case _:
                return self.opaque(node, f"{type(node).__name__} is not lifted")

    def captured(self, node: ast.expr) -> Expr:
        value = self.resolve(node)
        if value is _MISSING:
            return self.opaque(node, f"the name {ast.unparse(node)} is not bound")
        return self.constant(node, value)

    def resolve(self, node: ast.expr) -> object:
        """What a name, or an attribute of a module or class, stands for when the pipeline is compiled."""
        match node:
            case ast.Name(id=name) if name not in self.names:
                captured = inspect.getclosurevars(self.f) if isinstance(self.f, types.FunctionType) else None
                if captured is None:
                    return _MISSING
                for scope in (captured.nonlocals, captured.globals, captured.builtins):
                    if name in scope:
                        return scope[name]
            case ast.Attribute(value=value, attr=attr):
                owner = self.resolve(value)
                if isinstance(owner, types.ModuleType | type):
                    return inspect.getattr_static(owner, attr, _MISSING)
            case _:
                pass
        return _MISSING

    def constant(self, node: ast.expr, value: object) -> Expr:
        match value:
            case bool():
                return Constant(value, BOOLEAN)
            case int() if type(value) is int and -INTEGER_BOUND <= value < INTEGER_BOUND:
                return Constant(value, INTEGER)
            case float() if type(value) is float:
                return Constant(value, FLOAT)
            case str() if type(value) is str:
                return Constant(value, TEXT)
            case datetime() if value.utcoffset() is not None:
                return Constant(value, TIMESTAMP)
            case Enum():
                return self.opaque(node, "an enum member", shape_of(type(value)))
            case _:
                return self.opaque(
                    node, f"{ast.unparse(node)} is a {type(value).__name__}, not a plain constant"
                )

    def attribute(self, node: ast.Attribute) -> Expr:
        resolved = self.resolve(node)
        if resolved is not _MISSING:
            return self.constant(node, resolved)
        return self.part(node, self.expression(node.value), node.attr)

    def part(self, node: ast.expr, of: Expr, name: str) -> Expr:
        shape = of.shape
        if isinstance(of, Opaque) and shape is None:
            return of
        if not isinstance(shape, RecordOf):
            return self.opaque(node, f"the attribute {name} of a {shape}")
        for index, one in enumerate(shape.fields):
            if one.name == name and plain_attribute(shape.cls, name):
                if isinstance(of, Build):
                    return of.parts[index]
                return Part(of, index, name, one.shape)
        return self.opaque(node, f"{shape} has no plain field {name}")

    def item(self, node: ast.expr, of: Expr, index: int) -> Expr:
        if isinstance(of.shape, TupleOf) and 0 <= index < len(of.shape.items):
            if isinstance(of, Build):
                return of.parts[index]
            return Part(of, index, f"[{index}]", of.shape.items[index])
        return self.opaque(
            node, f"item {index} of a {of.shape}", of.shape.of if isinstance(of.shape, ListOf) else None
        )

    def arithmetic(self, node: ast.expr, operator: ast.operator, left: Expr, right: Expr) -> Expr:
        op = _ARITHMETIC.get(type(operator))
        shapes = {left.shape, right.shape}
        symbol = type(operator).__name__
        if op is None or not shapes <= {INTEGER, FLOAT}:
            integral = shapes == {INTEGER} and isinstance(operator, ast.FloorDiv | ast.Mod)
            known = INTEGER if integral else TEXT if shapes == {TEXT} and op == "+" else None
            return self.opaque(node, f"{symbol} of {left.shape} and {right.shape}", known)
        if op == "/" and shapes == {INTEGER}:
            return self.opaque(node, "the division of two integers", FLOAT)
        shape = FLOAT if FLOAT in shapes else INTEGER
        lifted = Arithmetic(op, left, right, shape, self.place(node))
        if shape == INTEGER and bound(lifted) >= EXACT_BOUND:
            return self.opaque(node, "an intermediate result may have more than 38 digits", INTEGER)
        if shape == FLOAT and any(
            one.shape == INTEGER and bound(one) > INTEGER_BOUND for one in (left, right)
        ):
            return self.opaque(node, "an integer that may exceed 64 bits becomes a float", FLOAT)
        return lifted

    def negative(self, node: ast.expr, of: Expr) -> Expr:
        if isinstance(of, Constant) and type(of.value) in (int, float) and of.value != -INTEGER_BOUND:
            assert isinstance(of.value, int | float)
            return Constant(-of.value, of.shape)
        if of.shape in (INTEGER, FLOAT):
            return Negative(of, of.shape, self.place(node))
        return self.opaque(node, f"the negative of a {of.shape}")

    def comparisons(self, node: ast.expr, operands: list[ast.expr], ops: list[ast.cmpop]) -> Expr:
        parts = [self.expression(one) for one in operands if not _is_none(one)]
        if any(isinstance(op, ast.Is | ast.IsNot) for op in ops):
            match operands, ops, parts:
                case [_, right], [op], [of] if _is_none(right) and _is_simple(of):
                    test: Expr = IsNone(of) if isinstance(of.shape, OptionalOf) else Constant(False, BOOLEAN)
                    return Not(test) if isinstance(op, ast.IsNot) else test
                case _:
                    return self.opaque(node, "`is`", BOOLEAN)
        if len(parts) != len(operands):
            return self.opaque(node, "a comparison with None by `==`", BOOLEAN)
        pairs = [
            self.comparison(node, op, left, right)
            for op, left, right in zip(ops, parts, parts[1:], strict=False)
        ]
        lifted = pairs[0]
        for pair in pairs[1:]:
            lifted = Logical("and", lifted, pair)
        return lifted

    def comparison(self, node: ast.expr, operator: ast.cmpop, left: Expr, right: Expr) -> Expr:
        op = _COMPARISONS.get(type(operator))
        if op is None:
            return self.opaque(node, f"`{type(operator).__name__}`", BOOLEAN)
        allowed = _COMPARABLE if op in ("==", "!=") else _TOTALLY_ORDERED
        if left.shape == right.shape and left.shape in allowed:
            return Comparison(op, left, right)
        return self.opaque(node, f"{left.shape} {op} {right.shape}", BOOLEAN)

    def logical(self, node: ast.expr, op: str, values: list[ast.expr]) -> Expr:
        parts = [self.expression(one) for one in values]
        if any(part.shape != BOOLEAN for part in parts):
            return self.opaque(node, f"`{op}` of non-bools")
        lifted = parts[-1]
        for part in reversed(parts[:-1]):
            lifted = Logical("and" if op == "and" else "or", part, lifted)
        return lifted

    def choice(self, node: ast.expr, condition: Expr, then: Expr, otherwise: Expr) -> Expr:
        shape = then.shape if then.shape == otherwise.shape else None
        if condition.shape != BOOLEAN or shape is None:
            return self.opaque(node, f"a choice between {then.shape} and {otherwise.shape}", shape)
        if not isinstance(shape, Scalar):
            return self.opaque(node, f"a choice between two values of {shape}", shape)
        return Choice(condition, then, otherwise, shape)

    def tuple_of(self, node: ast.expr, parts: tuple[Expr, ...]) -> Expr:
        shapes = tuple(one.shape for one in parts if one.shape is not None)
        if not parts or len(shapes) != len(parts):
            return self.opaque(node, "a tuple with a part of unknown type")
        return Build(TupleOf(shapes), parts)

    def call(self, node: ast.Call) -> Expr:
        target = self.resolve(node.func)
        if isinstance(node.func, ast.Attribute) and target is _MISSING:
            owner = self.expression(node.func.value)
            textual = owner.shape == TEXT and node.func.attr in _TEXT_METHODS
            return self.opaque(node, f"the method {node.func.attr}", TEXT if textual else None)
        if isinstance(target, type) and attrs.has(target):
            starred = any(isinstance(one, ast.Starred) for one in node.args)
            if not starred and all(one.arg is not None for one in node.keywords):
                named = {str(one.arg): self.expression(one.value) for one in node.keywords}
                positional = tuple(self.expression(one) for one in node.args)
                return _construct(target, positional, named, self.place(node))
        known = _BUILTIN_RESULTS.get(target) if isinstance(target, type | types.BuiltinFunctionType) else None
        if known is None and callable(target):
            known = _annotated(target)
        return self.opaque(node, f"a call of {ast.unparse(node.func)}", known)


def _is_simple(expr: Expr) -> bool:
    return expr.shape is not None and opaque_part(expr) is None and not can_raise(expr)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _construct(cls: type, positional: tuple[Expr, ...], named: Mapping[str, Expr], place: str) -> Expr:
    """``cls(...)``: lifted when constructing the record does nothing but store its fields."""
    try:
        shape = _shape_with(cls, positional, named)
    except (RecordTypeError, TypeError):
        return Opaque(_BUILTIN_RESULTS.get(cls), f"the construction of {cls.__name__}", place)
    properties = attrs.inspect(cls)
    attributes = attrs.fields(cls)
    if (
        not properties.added_init
        or hasattr(cls, "__attrs_post_init__")
        or hasattr(cls, "__attrs_pre_init__")
        or any(one.converter is not None or one.validator is not None for one in attributes)
    ):
        return Opaque(shape, f"{cls.__name__} has an initialiser, converter or validator of its own", place)
    aliases = [one.alias for one in attributes if not one.kw_only]
    if len(positional) > len(aliases):
        return Opaque(shape, f"{cls.__name__} takes {len(aliases)} positional arguments", place)
    given = {**dict(zip(aliases, positional, strict=False)), **named}
    parts = []
    for attribute, one in zip(attributes, shape.fields, strict=True):
        part = given.get(attribute.alias or attribute.name)
        if part is None:
            return Opaque(shape, f"{cls.__name__}.{one.name} is left to its default", place)
        if part.shape != one.shape:
            return Opaque(
                shape, f"{cls.__name__}.{one.name} is a {one.shape} and is given {part.shape}", place
            )
        parts.append(part)
    if len(given) != len(parts):
        return Opaque(shape, f"{cls.__name__} is given arguments that it does not take", place)
    return Build(shape, tuple(parts))


def _shape_with(cls: type, positional: tuple[Expr, ...], named: Mapping[str, Expr]) -> RecordOf:
    """The shape of a record class; that of ``KV`` follows from its arguments."""
    if cls is KV:
        pair = [*positional, *(named[name] for name in ("key", "value") if name in named)]
        key, value = (one.shape for one in pair)
        if key is None or value is None:
            raise RecordTypeError("a KV with a part of unknown type")
        return kv_of(key, value)
    shape = shape_of(cls)
    if not isinstance(shape, RecordOf):
        raise RecordTypeError(f"{cls.__name__} is not a record class")
    return shape


__all__ = ["lift"]
