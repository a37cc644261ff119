"""Which fields of its element a function reads that must run in Python; an engine need not transfer the others.

For ``lambda s: grade(s.note)`` an engine passes the column ``s.note`` to ``grade``. A function that reads only some
fields receives a stand-in: an object with these fields, which the function cannot distinguish from the element.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import FunctionType
from typing import Final, TypeAlias

import attrs
from returns.result import Success

from flowalg.data.errors import describe_function
from flowalg.data.shapes import RecordOf, Shape
from flowalg.lifting.functions import lift_function
from flowalg.lifting.python.attributes import is_plain_attribute
from flowalg.lifting.python.captured_values import MISSING, resolve_global
from flowalg.lifting.python.scope import Scope
from flowalg.lifting.python.source import Syntax, syntax_of
from flowalg.lifting.syntax import lift_expression
from flowalg.lifting.tree.expressions import Expr, Param
from flowalg.lifting.tree.failures import is_column

Reads: TypeAlias = Mapping[str, "Reads | None"]
"""The fields that are read, each with the fields that are read of it, or ``None`` if it is used as a whole."""

_INTROSPECTION: Final = frozenset({"locals", "vars", "eval", "exec", "globals", "dir", "super"})
"""Functions that can access a variable without naming it."""


def delegated_call(
    f: Callable[..., object], element: Shape
) -> tuple[Callable[..., object], tuple[Expr, ...]] | None:
    """If ``f`` only calls another function with columns, returns that function and these arguments; else ``None``."""
    match syntax_of(f):
        case Success(ast.Lambda(body=ast.Call() as call) as syntax):
            pass
        case Success(ast.FunctionDef(body=[ast.Return(value=ast.Call() as call)]) as syntax):
            pass
        case _:
            return None
    arguments = (*syntax.args.posonlyargs, *syntax.args.args)
    if not isinstance(f, FunctionType) or len(arguments) != 1 or call.keywords or not call.args:
        return None
    names = {arguments[0].arg: Param(element)}
    scope = Scope(describe_function(f), partial(resolve_global, f), names, lift_function, (f.__code__,))
    target = scope.resolve(call.func)
    if target is MISSING or not callable(target):
        return None
    read = tuple(lift_expression(arg, scope) for arg in call.args)
    return (target, read) if all(map(is_column, read)) else None


def required_shape(f: Callable[..., object], element: Shape) -> Shape:
    """Returns the shape of the fields of an element that ``f`` reads: that of a stand-in, or ``element`` itself."""
    if not isinstance(element, RecordOf) or not element.fields:
        return element
    match syntax_of(f):
        case Success(syntax):
            reads = _fields_read(syntax, element)
            # A function that reads no field is still called once for each element.
            return (
                element if reads is None else _make_stand_in(element, reads or {element.fields[0].name: None})
            )
        case _:
            return element


def _fields_read(syntax: Syntax, element: RecordOf) -> Reads | None:
    arguments = (*syntax.args.posonlyargs, *syntax.args.args)
    names = {node.id for node in ast.walk(syntax) if isinstance(node, ast.Name)}
    if len(arguments) != 1 or names & _INTROSPECTION:
        return None
    reads: dict[str, Reads | None] = {}
    body = syntax.body if isinstance(syntax.body, list) else [syntax.body]
    for path in (path for part in body for path in _attribute_paths(part, arguments[0].arg)):
        if not _add(reads, path, element):
            return None
    return reads


def _attribute_paths(node: ast.AST, name: str) -> Iterator[tuple[str, ...]]:
    """The attribute paths that are read of a variable; a path is empty where the variable is used as a whole."""
    path: list[str] = []
    inner = node
    while isinstance(inner, ast.Attribute) and isinstance(inner.ctx, ast.Load):
        path.insert(0, inner.attr)
        inner = inner.value
    if isinstance(inner, ast.Name) and inner.id == name:
        yield tuple(path) if isinstance(inner.ctx, ast.Load) else ()
        return
    for child in ast.iter_child_nodes(node):
        yield from _attribute_paths(child, name)


def _add(reads: dict[str, Reads | None], path: tuple[str, ...], shape: RecordOf) -> bool:
    """Adds an attribute path to the fields that are read; returns whether its first name is a plain field."""
    if not path:
        return False
    first, *rest = path
    field = next((field for field in shape.fields if field.name == first), None)
    if field is None or not is_plain_attribute(shape.cls, first):
        return False
    before = reads.get(first, {})
    if before is None:
        return True
    inner = dict(before)
    if isinstance(field.shape, RecordOf) and _add(inner, tuple(rest), field.shape):
        reads[first] = inner
    else:
        reads[first] = None
    return True


def _make_stand_in(shape: RecordOf, reads: Reads) -> RecordOf:
    """Makes a record class with only the fields that are read; its ``repr`` shows that fields are missing."""
    fields = []
    for field in shape.fields:
        if field.name in reads:
            inner = reads[field.name]
            if inner is not None and isinstance(field.shape, RecordOf):
                field = attrs.evolve(field, shape=_make_stand_in(field.shape, inner))
            fields.append(field)
    if len(fields) == len(shape.fields) and fields == list(shape.fields):
        return shape
    names = {field.name: attrs.field() for field in fields}
    cls = attrs.make_class(
        shape.cls.__name__, names, class_body={"__repr__": _repr}, slots=True, repr=False, eq=False
    )
    return RecordOf(cls, tuple(fields))


def _repr(stand_in: object) -> str:
    kind: type = type(stand_in)
    shown = [f"{field.name}={getattr(stand_in, field.name)!r}" for field in attrs.fields(kind)]
    return f"{kind.__name__}({', '.join([*shown, '…'])})"
