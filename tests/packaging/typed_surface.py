"""The public surface, by introspection, and the part of it that the tables of types cover, by their syntax.

The surface is every name in the ``__all__`` of the packages below, and every public member of those that are classes:
methods, properties, fields and operators that this project defines. An inherited member belongs to the class that
defines it, so one row for a base class is a row for all. The flowalg_shard package is internal to engines: only what
public classes inherit from it is included.

A table covers a member when an ``assert_type`` has it, in its first argument, after a parameter of the enclosing
function, after a class, or after a call of a class; a parameter whose type is a union represents all of its members.
A table covers a name when an ``assert_type`` has it, or the type of such a parameter. Limits: the check does not see
whether each overload has a row, whether the asserted type depends on the member at all, or the members of the result
of an expression (``a.map(f).filter`` is a row for ``map`` alone). So it finds forgotten members; whether a row is a
good test is for its author to judge.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from importlib import import_module
from types import ModuleType
from typing import Final, get_args

from attrs import frozen

PACKAGES: Final = (
    "flowalg",
    "flowalg_kafka",
    "flowalg_laws",
    "flowalg_polars",
    "flowalg_polars.batch",
    "flowalg_polars.streaming",
    "flowalg_reference",
    "flowalg_sinks",
    "flowalg_snapshots",
    "flowalg_spark",
    "flowalg_spark.batch",
    "flowalg_spark.sinks",
    "flowalg_spark.streaming",
)

_BINARY: Final[Mapping[type[ast.operator], str]] = {
    ast.BitAnd: "__and__",
    ast.BitOr: "__or__",
    ast.RShift: "__rshift__",
}
_CALLED: Final = {"iter": "__iter__", "len": "__len__"}
_OPERATORS: Final = frozenset({*_BINARY.values(), *_CALLED.values(), "__contains__"})


def name_in(module: str, name: str) -> str:
    """Returns the name of a public object in reports and tables, with the module that defines a class or function."""
    found = getattr(import_module(module), name)
    if inspect.isclass(found) or inspect.isfunction(found):
        return f"{found.__module__}.{found.__qualname__}"
    return f"{module}.{name}"


def member_of(cls: type, name: str) -> str | None:
    """Returns a member of a class, by the class that defines it; ``None`` if no class of this project does."""
    definer = next((base for base in cls.__mro__ if name in vars(base)), None)
    if definer is None or not definer.__module__.startswith("flowalg"):
        return None
    return f"{definer.__module__}.{definer.__qualname__}.{name}"


def members(cls: type) -> frozenset[str]:
    """Returns the public members of a class that this project defines; the values of an enum are left out."""
    names = {name for base in cls.__mro__ for name in vars(base)}
    public = {name for name in names if not name.startswith("_") or name in _OPERATORS}
    values = set(cls.__members__) if issubclass(cls, Enum) else set[str]()
    found = (member_of(cls, name) for name in public - values)
    return frozenset(member for member in found if member is not None)


def surface(packages: Sequence[str] = PACKAGES) -> frozenset[str]:
    """Returns all public names of some packages, and the public members of all public classes there."""
    found: set[str] = set()
    for module in packages:
        exported: list[str] = import_module(module).__all__
        for name in exported:
            value: object = getattr(import_module(module), name)
            if not isinstance(value, ModuleType):
                found.add(name_in(module, name))
            if inspect.isclass(value):
                found |= members(value)
    return frozenset(found)


@frozen
class _Table:
    """The names that a table imports: from modules, and as values."""

    names: Mapping[str, tuple[str, str]]
    values: Mapping[str, object]

    def public_name(self, expression: ast.expr) -> str | None:
        """Returns the public name of an expression; ``None`` if it is not the name of a public object."""
        match expression:
            case ast.Name(id=name) if name in self.names:
                return name_in(*self.names[name])
            case ast.Attribute(value=ast.Name(id=name), attr=attribute):
                value = self.values.get(name)
                return name_in(value.__name__, attribute) if isinstance(value, ModuleType) else None
            case _:
                return None

    def classes(self, annotation: ast.expr | None) -> tuple[type, ...]:
        """Returns the classes of a type or an alias: several for a union."""
        match annotation:
            case ast.Name(id=name):
                value = self.values.get(name)
                parts: tuple[object, ...] = get_args(value) or (value,)
                return tuple(part for part in parts if isinstance(part, type))
            case ast.Subscript(value=generic):
                return self.classes(generic)
            case _:
                return ()

    def owners(self, base: ast.expr, parameters: Mapping[str, tuple[type, ...]]) -> tuple[type, ...]:
        """Returns the classes of the expression before a dot or an operator, where the syntax shows them."""
        match base:
            case ast.Name(id=name) if name in parameters:
                return parameters[name]
            case ast.Call(func=made):
                return self.classes(made)
            case _:
                return self.classes(base)


def covered_by(text: str) -> frozenset[str]:
    """Returns the members and names that the rows of a table cover."""
    tree = ast.parse(text)
    table = _table_of(tree)
    found: set[str] = set()
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            parameters = {argument.arg: table.classes(argument.annotation) for argument in function.args.args}
            for parameter in function.args.args:
                found.update(_names_in(parameter, table))
            for node in ast.walk(function):
                match node:
                    case ast.Call(func=ast.Name(id="assert_type"), args=[expression, asserted]):
                        found.update(_members_in(expression, table, parameters))
                        found.update(_names_in(asserted, table))
                    case _:
                        pass
    return frozenset(found)


def _table_of(tree: ast.Module) -> _Table:
    names: dict[str, tuple[str, str]] = {}
    values: dict[str, object] = {}
    for node in tree.body:
        match node:
            case ast.ImportFrom(module=str(module), names=aliases):
                for alias in aliases:
                    names[alias.asname or alias.name] = (module, alias.name)
                    values[alias.asname or alias.name] = getattr(import_module(module), alias.name)
            case ast.Import(names=aliases):
                values.update({alias.asname or alias.name: import_module(alias.name) for alias in aliases})
            case _:
                pass
    return _Table(names, values)


def _members_in(
    expression: ast.expr, table: _Table, parameters: Mapping[str, tuple[type, ...]]
) -> Iterator[str]:
    yield from _names_in(expression, table)
    for node in ast.walk(expression):
        for base, name in _accesses(node):
            for owner in table.owners(base, parameters):
                member = member_of(owner, name)
                if member is not None:
                    yield member


def _accesses(node: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    """Yields the members that a piece of syntax uses, each with the expression that it is a member of."""
    match node:
        case ast.Attribute(value=base, attr=name):
            yield base, name
        case ast.BinOp(left=left, op=operator) if type(operator) in _BINARY:
            yield left, _BINARY[type(operator)]
        case ast.Call(func=ast.Name(id=called), args=[argument]) if called in _CALLED:
            yield argument, _CALLED[called]
        case ast.Compare(ops=[ast.In()], comparators=[container]):
            yield container, "__contains__"
        case _:
            pass


def _names_in(tree: ast.AST, table: _Table) -> frozenset[str]:
    public = (table.public_name(node) for node in ast.walk(tree) if isinstance(node, ast.expr))
    return frozenset(name for name in public if name is not None)
