"""The laws of transforms as values: they form a category, which acts on collections."""

from __future__ import annotations

from typing import TypeAlias

from flowalg import KV, Interpreter, PCollection, PTransform, Sum, Timeline, WindowingStrategy
from flowalg_laws.kit.equation import Equation
from flowalg_laws.kit.interpreters import apply_windowing
from flowalg_laws.kit.law import Law, law
from flowalg_laws.kit.readings import READINGS, VALUES, Reading
from flowalg_laws.laws.transforms import Pair, Panes

Transform: TypeAlias = PTransform[Pair, Pair]


@law
def identity_is_neutral(f: Transform) -> Equation[tuple[Transform, Transform]]:
    """``identity >> f = f = f >> identity``, as values.

    Source: SEMANTICS 18; a category's left and right unit.
    """
    identity = PTransform.identity(KV[str, int])
    return Equation((identity >> f, f >> identity), (f, f))


@law
def composition_is_associative(f: Transform, g: Transform, h: Transform) -> Equation[Transform]:
    """``(f >> g) >> h = f >> (g >> h)``, as values.

    Source: SEMANTICS 18; a category's associativity.
    """
    return Equation((f >> g) >> h, f >> (g >> h))


@law
def application_is_an_action(f: Transform, g: Transform) -> Equation[PCollection[Pair]]:
    """``c.apply(f >> g) = c.apply(f).apply(g)``, as values.

    Source: SEMANTICS 18; the action of a category on collections.
    """
    return Equation(VALUES.apply(f >> g), VALUES.apply(f).apply(g))


@law
def names_change_no_meaning(
    engine: Interpreter, strategy: WindowingStrategy, timeline: Timeline[Reading], f: Transform
) -> Equation[Panes]:
    """``c.apply(f.named(n)) = c.apply(f)``: the panes do not depend on the name.

    Source: SEMANTICS 18.
    """

    def panes(transform: Transform) -> Panes:
        grouped = apply_windowing(VALUES.apply(transform), strategy).combine_per_key(Sum())
        return engine.run(grouped, {READINGS: timeline}).panes

    return Equation(panes(f.named("renamed")), panes(f))


TRANSFORM_LAWS: tuple[Law[..., object], ...] = (
    identity_is_neutral,
    composition_is_associative,
    application_is_an_action,
    names_change_no_meaning,
)
"""All laws of transforms and their composition."""
