"""What a function that only Python can run needs of its element, where its syntax tells.

``lambda s: grade(s.note)`` is ``grade`` of a column. A function that only reads some fields is given a stand-in: an
object that has these fields, and nothing that the function could tell from the element. Either way an engine need not
bring the other columns to Python.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import FunctionType
from typing import Final, TypeAlias

import attrs
from returns.result import Success

from flowalg.data.shapes import RecordOf, Shape
from flowalg.elementwise.functions import describe_function
from flowalg.lifting.functions import lift_function
from flowalg.lifting.python.attributes import plain_attribute
from flowalg.lifting.python.captured import MISSING, global_of
from flowalg.lifting.python.scope import Scope
from flowalg.lifting.python.source import Syntax, syntax_of
from flowalg.lifting.syntax import expression
from flowalg.lifting.tree.expressions import Expr, Param, opaque_part

Reads: TypeAlias = Mapping[str, "Reads | None"]
"""The fields that are read, each with what is read of it; ``None`` for all of it."""

_LOOKING_AROUND: Final = frozenset({"locals", "vars", "eval", "exec", "globals", "dir", "super"})
"""What could see a variable without naming it."""


def call_read(
    f: Callable[..., object], element: Shape
) -> tuple[Callable[..., object], tuple[Expr, ...]] | None:
    """The function that ``f`` does nothing but call, as it is now, and what it calls it with; ``None`` for others."""
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
    scope = Scope(describe_function(f), partial(global_of, f), names, lift_function, (f.__code__,))
    target = scope.resolve(call.func)
    if target is MISSING or not callable(target):
        return None
    read = tuple(expression(arg, scope) for arg in call.args)
    known = all(one.shape is not None and opaque_part(one) is None for one in read)
    return (target, read) if known else None


def shape_read(f: Callable[..., object], element: Shape) -> Shape:
    """The shape of what ``f`` needs of an element: that of a stand-in with fewer fields, or ``element`` itself."""
    if not isinstance(element, RecordOf) or not element.fields:
        return element
    match syntax_of(f):
        case Success(syntax):
            reads = _reads(syntax, element)
            # A function that reads nothing is still called once for each element.
            return element if reads is None else _stand_in(element, reads or {element.fields[0].name: None})
        case _:
            return element


def _reads(syntax: Syntax, element: RecordOf) -> Reads | None:
    arguments = (*syntax.args.posonlyargs, *syntax.args.args)
    names = {node.id for node in ast.walk(syntax) if isinstance(node, ast.Name)}
    if len(arguments) != 1 or names & _LOOKING_AROUND:
        return None
    found: dict[str, Reads | None] = {}
    body = syntax.body if isinstance(syntax.body, list) else [syntax.body]
    for path in (path for part in body for path in _paths(part, arguments[0].arg)):
        if not _add(found, path, element):
            return None
    return found


def _paths(node: ast.AST, name: str) -> Iterator[tuple[str, ...]]:
    """The attributes that are read of a variable, each as a path; an empty one where it is used as a whole."""
    path: list[str] = []
    inner = node
    while isinstance(inner, ast.Attribute) and isinstance(inner.ctx, ast.Load):
        path.insert(0, inner.attr)
        inner = inner.value
    if isinstance(inner, ast.Name) and inner.id == name:
        yield tuple(path) if isinstance(inner.ctx, ast.Load) else ()
        return
    for child in ast.iter_child_nodes(node):
        yield from _paths(child, name)


def _add(found: dict[str, Reads | None], path: tuple[str, ...], shape: RecordOf) -> bool:
    """Whether the first name of a path is a plain field, which is then added with what is read of it."""
    if not path:
        return False
    first, *rest = path
    field = next((field for field in shape.fields if field.name == first), None)
    if field is None or not plain_attribute(shape.cls, first):
        return False
    known = found.get(first, {})
    if known is None:
        return True
    inner = dict(known)
    if isinstance(field.shape, RecordOf) and _add(inner, tuple(rest), field.shape):
        found[first] = inner
    else:
        found[first] = None
    return True


def _stand_in(shape: RecordOf, reads: Reads) -> RecordOf:
    """A record class like that of ``shape`` which has only the fields that are read, and says so in messages."""
    fields = []
    for one in shape.fields:
        if one.name in reads:
            inner = reads[one.name]
            if inner is not None and isinstance(one.shape, RecordOf):
                one = attrs.evolve(one, shape=_stand_in(one.shape, inner))
            fields.append(one)
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


__all__ = ["call_read", "shape_read"]
