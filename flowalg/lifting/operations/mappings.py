"""Lookups in a mapping, which is the value of a side input: by index, with ``get``, and with ``in``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from attrs import evolve

from flowalg.data.shapes import BOOLEAN, DAY, DURATION, INTEGER, TEXT, TIMESTAMP, MapOf, TupleOf
from flowalg.lifting.operations.conditionals import choose, common_shape
from flowalg.lifting.tree.expressions import Apply, Constant, Expr, Opaque, first_opaque, items_of
from flowalg.lifting.tree.failures import can_raise_in_engine
from flowalg.lifting.tree.primitives import Op

_KEYS: Final = (BOOLEAN, INTEGER, TEXT, DAY, TIMESTAMP, DURATION)
"""The keys that a join compares as Python does."""


def get_value(mapping: MapOf, of: Expr, key: Expr, location: str) -> Expr:
    """Lifts ``of[key]``."""
    lookup = _look_up(mapping, of, key, location)
    if isinstance(lookup, Opaque):
        return evolve(lookup, shape=mapping.value)
    return Apply(Op.REQUIRE, items_of(lookup), mapping.value, location)


def has_key(mapping: MapOf, of: Expr, key: Expr, location: str) -> Expr:
    """Lifts ``key in of``."""
    lookup = _look_up(mapping, of, key, location)
    return evolve(lookup, shape=BOOLEAN) if isinstance(lookup, Opaque) else items_of(lookup)[0]


def lift_method(name: str, mapping: MapOf, of: Expr, args: Sequence[Expr], location: str) -> Expr:
    """Lifts ``of.get(key)`` and ``of.get(key, default)``."""
    if name != "get" or len(args) not in (1, 2):
        return Opaque(None, f"the method {name} of {mapping}", location)
    default = args[1] if len(args) == 2 else Constant(None, None)
    lookup = _look_up(mapping, of, args[0], location)
    if isinstance(lookup, Opaque):
        result = common_shape(evolve(lookup, shape=mapping.value), default)
        return evolve(lookup, shape=result)
    if can_raise_in_engine(default):
        return Opaque(None, "a default that may fail, which `get` evaluates always", location)
    is_found, value = items_of(lookup)
    return choose(is_found, value, default, location)


def _look_up(mapping: MapOf, of: Expr, key: Expr, location: str) -> Expr:
    opaque = first_opaque(key)
    if opaque is not None:
        return Opaque(None, opaque.reason, opaque.location)
    if key.shape != mapping.key or key.shape not in _KEYS:
        return Opaque(None, f"a key of type {key.shape} in {mapping}", location)
    if can_raise_in_engine(key):
        return Opaque(None, "a key that may fail", location)
    return Apply(Op.LOOKUP, (of, key), TupleOf((BOOLEAN, mapping.value)), location)
