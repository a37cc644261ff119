"""What the tables of types must cover, by introspection, and what they cover, by their syntax.

The surface is every name in the ``__all__`` of the packages below, and every public member of those that are classes:
methods, properties, fields and operators that this project defines. An inherited member belongs to the class that
defines it, so one row for a base class is a row for all. The flowalg_shard package is internal to engines: only what
public classes inherit from it is included.

The tables must cover the part of the surface whose types are *solved*: whose declaration mentions ``Self``, an
overload, or a type variable that is not that of its class, and generic classes that can be constructed. The type of the
rest is the annotation itself, which both checkers check at its definition.

A row is an ``assert_type`` or a call as a statement. A table covers a member when a row has it, in its (first)
expression, after a parameter of the enclosing function, after a class, or after a call of a class; a parameter whose
type is a union represents all of its members. A table covers a name when a row has it, or the type of a parameter.
Limits: the check does not see whether each overload has a row, whether the asserted type depends on the member at all,
or the members of the result of an expression (``a.map(f).filter`` is a row for ``map`` alone). So it finds forgotten
members; whether a row is a good test is for its author to judge.
"""

from __future__ import annotations

import ast
import inspect
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Final, ParamSpec, Self, TypeAlias, TypeVar, get_args, get_origin, overload

from attrs import frozen

from tests.support.public import ROOMS

PACKAGES: Final = (
    *ROOMS,
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
_OPERATORS: Final = frozenset(
    {*_BINARY.values(), *_CALLED.values(), "__call__", "__contains__", "__getitem__"}
)

Declaration: TypeAlias = ast.AnnAssign | ast.FunctionDef
"""What a module declares with types."""


def name_in(module: str, name: str) -> str:
    """Returns the name of a public object in reports and tables, with the module that defines a class or function."""
    value = getattr(import_module(module), name)
    if inspect.isclass(value) or inspect.isfunction(value):
        return f"{value.__module__}.{value.__qualname__}"
    return f"{module}.{name}"


def member_of(cls: type, name: str) -> str | None:
    """Returns a member of a class, by the class that defines it; ``None`` if no class of this project does."""
    definer = _definer_of(cls, name)
    return None if definer is None else f"{definer.__module__}.{definer.__qualname__}.{name}"


def _definer_of(cls: type, name: str) -> type | None:
    definer = next((base for base in cls.__mro__ if name in vars(base)), None)
    return definer if definer is not None and definer.__module__.startswith("flowalg") else None


def members(cls: type) -> Mapping[str, bool]:
    """Returns the public members of a class that this project defines, each with whether its type is solved.

    The values of an enum are left out.
    """
    names = {name for base in cls.__mro__ for name in vars(base)}
    public = {name for name in names if not name.startswith("_") or name in _OPERATORS}
    values = set(cls.__members__) if issubclass(cls, Enum) else set[str]()
    pairs = ((member_of(cls, name), name) for name in public - values)
    return {member: _member_is_solved(cls, name) for member, name in pairs if member is not None}


def surface(packages: Sequence[str] = PACKAGES) -> Mapping[str, bool]:
    """Returns all public names of some packages, and the public members of all public classes there.

    Each has whether its type is solved.
    """
    names: dict[str, bool] = {}
    for module in packages:
        exported: list[str] = import_module(module).__all__
        for name in exported:
            value: object = getattr(import_module(module), name)
            if not isinstance(value, ModuleType):
                names[name_in(module, name)] = _is_solved(value)
            if inspect.isclass(value):
                names |= members(value)
    return names


def _is_solved(value: object) -> bool:
    """Returns whether a public object is a generic class or alias, or a constructor or function with solved types."""
    if inspect.isfunction(value):
        return _declares_solved(value.__module__, value.__qualname__)
    made = inspect.isclass(value) and _member_is_solved(value, "__init__")
    is_type = inspect.isclass(value) or get_origin(value) is not None
    is_abstract = any(
        getattr(getattr(value, name, None), "__isabstractmethod__", False) for name in dir(value)
    )
    return made or (is_type and not is_abstract and getattr(value, "__parameters__", ()) != ())


def _member_is_solved(cls: type, name: str) -> bool:
    definer = _definer_of(cls, name)
    if definer is None:
        return False
    own: tuple[object, ...] = getattr(definer, "__parameters__", ())
    return _declares_solved(definer.__module__, f"{definer.__qualname__}.{name}", own)


def _declares_solved(module: str, name: str, own: tuple[object, ...] = ()) -> bool:
    """Returns whether a declaration mentions ``Self``, an overload, a class that is called so, or a type variable.

    A class's own type variables do not count: a checker has their values from the type before the dot.
    """
    for declaration in _declarations_of(module)[name]:
        for named in _names_of_types(declaration):
            value: object = getattr(import_module(module), named, None)
            if (isinstance(value, TypeVar | ParamSpec) and value not in own) or value in (Self, overload):
                return True
            if named.startswith("_") and inspect.isclass(value) and _member_is_solved(value, "__call__"):
                return True
    return False


def _names_of_types(declaration: Declaration) -> Iterator[str]:
    """Yields the names in the annotations and decorators of a declaration."""
    match declaration:
        case ast.AnnAssign(annotation=annotation):
            parts: list[ast.AST] = [annotation]
        case ast.FunctionDef(args=arguments, returns=returns, decorator_list=decorators):
            parts = [arguments, *decorators, *([] if returns is None else [returns])]
    for part in parts:
        for node in ast.walk(part):
            match node:
                case ast.Name(id=name):
                    yield name
                case _:
                    pass


@cache
def _declarations_of(module: str) -> Mapping[str, Sequence[Declaration]]:
    """Returns the declarations of a module by qualified name, with those that only type checkers see."""
    declarations: defaultdict[str, list[Declaration]] = defaultdict(list)

    def visit(body: Sequence[ast.stmt], prefix: str) -> None:
        for node in body:
            match node:
                case ast.ClassDef(name=name):
                    visit(node.body, f"{prefix}{name}.")
                case ast.If():
                    visit([*node.body, *node.orelse], prefix)
                case ast.FunctionDef(name=name) | ast.AnnAssign(target=ast.Name(id=name)):
                    declarations[prefix + name].append(node)
                case _:
                    pass

    visit(ast.parse(inspect.getsource(import_module(module))).body, "")
    return declarations


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
    covered: set[str] = set()
    for function, parameters in _functions_in(tree, table):
        for parameter in function.args.args:
            covered.update(_names_in(parameter, table))
        for row in _rows_in(function):
            for expression in row.args if _asserts(row) else [row]:
                covered.update(_names_in(expression, table))
            covered.update(_members_in(row.args[0] if _asserts(row) else row, table, parameters))
    return frozenset(covered)


def restated_by(text: str) -> tuple[str, ...]:
    """Returns the ``assert_type`` rows of a table that read an annotation: nothing in them has an inferred type.

    Inferred are the types of solved names and members, of lambdas, of the results of operators, and of what a table
    assigns or decorates; the last only outside the arguments of a call.
    """
    tree = ast.parse(text)
    table = _table_of(tree)
    solved = {name for name, is_solved in surface().items() if is_solved}
    decorated = {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.decorator_list}
    made = decorated | {
        name for node in tree.body if isinstance(node, ast.Assign) for name in _assigned_in(node)
    }
    restated: list[str] = []
    for function, parameters in _functions_in(tree, table):
        local = made | _assigned_in(function)
        for row in filter(_asserts, _rows_in(function)):
            expression = row.args[0]
            inferred = any(
                isinstance(node, ast.Lambda) or (isinstance(node, ast.BinOp) and type(node.op) in _BINARY)
                for node in ast.walk(expression)
            )
            used = solved.intersection(_members_in(expression, table, parameters))
            if not (inferred or used or local & _subjects_of(expression)):
                restated.append(ast.unparse(row))
    return tuple(restated)


def _assigned_in(tree: ast.AST) -> set[str]:
    names = (node for node in ast.walk(tree) if isinstance(node, ast.Name))
    return {name.id for name in names if isinstance(name.ctx, ast.Store)}


def _subjects_of(expression: ast.expr) -> set[str]:
    """Returns the variables in an expression, without those in arguments of calls."""
    match expression:
        case ast.Name(id=name):
            return {name}
        case ast.Call(func=called):
            return _subjects_of(called)
        case _:
            parts = (node for node in ast.iter_child_nodes(expression))
            return set[str]().union(*(_subjects_of(part) for part in parts if isinstance(part, ast.expr)))


def _functions_in(
    tree: ast.Module, table: _Table
) -> Iterator[tuple[ast.FunctionDef, Mapping[str, tuple[type, ...]]]]:
    """Yields the functions of a table, each with the classes of its parameters."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            yield (
                function,
                {argument.arg: table.classes(argument.annotation) for argument in function.args.args},
            )


def _rows_in(function: ast.FunctionDef) -> Iterator[ast.Call]:
    """Yields the rows of a function of a table: each ``assert_type``, and each call as a statement."""
    for node in ast.walk(function):
        match node:
            case ast.Call() if _asserts(node):
                yield node
            case ast.Expr(value=ast.Call() as call) if not _asserts(call):
                yield call
            case _:
                pass


def _asserts(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id == "assert_type"


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
        case ast.Subscript(value=base):
            yield base, "__getitem__"
        case ast.BinOp(left=left, op=operator) if type(operator) in _BINARY:
            yield left, _BINARY[type(operator)]
        case ast.Call(func=ast.Name(id=called), args=[argument]) if called in _CALLED:
            yield argument, _CALLED[called]
        case ast.Call(func=base):
            yield base, "__call__"
        case ast.Compare(ops=[ast.In()], comparators=[container]):
            yield container, "__contains__"
        case _:
            pass


def _names_in(tree: ast.AST, table: _Table) -> frozenset[str]:
    public = (table.public_name(node) for node in ast.walk(tree) if isinstance(node, ast.expr))
    return frozenset(name for name in public if name is not None)
