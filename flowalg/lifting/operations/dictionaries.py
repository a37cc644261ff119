"""Lookups in a constant dictionary: by index, with ``get``, and with ``in``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from attrs import evolve, frozen

from flowalg.data.shapes import BOOLEAN, DURATION, FLOAT, Shape, optional
from flowalg.lifting.operations.comparisons import unwrap_optional
from flowalg.lifting.operations.conditionals import choose, common_shape, widen
from flowalg.lifting.operations.membership import is_one_of
from flowalg.lifting.python.captured_values import to_constant
from flowalg.lifting.tree.expressions import Apply, Constant, Expr, Opaque, first_opaque
from flowalg.lifting.tree.failures import can_raise_in_engine, has_wide
from flowalg.lifting.tree.primitives import Op

Dictionary: TypeAlias = Mapping[object, object]

_UNHASHED: Final = (FLOAT, DURATION)
"""Keys that engines do not find as Python does: floats, since some equal integers, and durations of over 64 bits."""


@frozen
class _Entry:
    """Whether a dictionary has a key, and its value, which is arbitrary if it has not."""

    is_found: Expr
    value: Expr
    shape: Shape


def get_value(dictionary: Dictionary, name: str, key: Expr, location: str) -> Expr:
    """Lifts ``dictionary[key]``."""
    entry = _find(dictionary, name, key, location)
    if isinstance(entry, Opaque):
        return entry
    return Apply(Op.REQUIRE, (entry.is_found, entry.value), entry.shape, location)


def has_key(dictionary: Dictionary, name: str, key: Expr, location: str) -> Expr:
    """Lifts ``key in dictionary``."""
    entry = _find(dictionary, name, key, location)
    return evolve(entry, shape=BOOLEAN) if isinstance(entry, Opaque) else entry.is_found


def lift_method(dictionary: Dictionary, name: str, method: str, args: Sequence[Expr], location: str) -> Expr:
    """Lifts ``dictionary.get(key)`` and ``dictionary.get(key, default)``."""
    if method != "get" or len(args) not in (1, 2):
        return Opaque(None, f"the method {method} of {name}", location)
    default = args[1] if len(args) == 2 else Constant(None, None)
    entry = _find(dictionary, name, args[0], location)
    if isinstance(entry, Opaque):
        return evolve(entry, shape=common_shape(entry, default))
    if can_raise_in_engine(default):
        return Opaque(None, "a default that may fail, which `get` evaluates always", location)
    return choose(entry.is_found, entry.value, default, location)


def _find(dictionary: Dictionary, name: str, key: Expr, location: str) -> _Entry | Opaque:
    values = [to_constant(value) for value in dictionary.values()]
    constants = [value for value in values if isinstance(value, Constant)]
    shapes = {constant.shape for constant in constants if constant.shape is not None}
    if len(constants) < len(values) or len(shapes) != 1:
        return Opaque(None, f"{name}, whose values are not constants of one type", location)
    [shape] = shapes
    if any(constant.value is None for constant in constants):
        shape = optional(shape)
    opaque = first_opaque(key)
    if opaque is not None:
        return Opaque(shape, opaque.reason, opaque.location)
    of = unwrap_optional(key, location)
    keys = [constant for constant in map(to_constant, dictionary) if isinstance(constant, Constant)]
    same = [constant for constant in keys if constant.shape == of.shape not in _UNHASHED]
    if len(same) < len(dictionary):
        return Opaque(shape, f"a key of type {key.shape} in {name}", location)
    if has_wide(key) or any(map(has_wide, constants)):
        return Opaque(shape, f"an integer that may exceed 64 bits in {name}", location)
    is_found = is_one_of(key, same, location)
    if isinstance(is_found, Opaque):
        return evolve(is_found, shape=shape)
    value = Apply(Op.ENTRY, (of, *same, *(widen(constant, shape) for constant in constants)), shape, location)
    return _Entry(is_found, value, shape)
