"""The laws of transforms as values: they form a category, which acts on collections."""

from __future__ import annotations

from typing import Final, TypeAlias

from flowalg import KV, Interpreter, PCollection, PTransform, Sum, Timeline
from flowalg.windows import WindowingStrategy
from flowalg_laws.kit.equation import Equation
from flowalg_laws.kit.interpreters import apply_windowing
from flowalg_laws.kit.law import Law, law
from flowalg_laws.kit.readings import READINGS, VALUES, Reading
from flowalg_laws.kit.structures import MONOID, Action, Model, Operation, action, itself, laws_of
from flowalg_laws.laws.transforms import Pair, Panes

Transform: TypeAlias = PTransform[PCollection[Pair], PCollection[Pair]]


def _composition(f: Transform, g: Transform, h: Transform) -> Model[Transform, Transform]:
    return Model(PTransform.__rshift__, (f, g, h), itself, (IDENTITY,))


def _application(f: Transform, g: Transform) -> Action[PCollection[Pair], Transform, PCollection[Pair]]:
    return Action(PCollection.apply, VALUES, f, g, PTransform.__rshift__, IDENTITY, itself)


IDENTITY: Final[Transform] = PTransform.identity(KV[str, int])
COMPOSITION: Final = Operation(
    "composition", "compose", _composition, "SEMANTICS 18; a category", ">>", ("identity",)
)
APPLICATION: Final = Action("{}.apply({})".format, "c", "f", "g", "{} >> {}".format, "identity", str)


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
    *laws_of(COMPOSITION, *MONOID),
    *action(
        "application",
        _application,
        APPLICATION,
        source="SEMANTICS 18; the action of a category on collections",
    ),
    names_change_no_meaning,
)
"""All laws of transforms and their composition."""
