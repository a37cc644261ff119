"""The laws of transforms as values: they form a symmetric monoidal category, which acts on collections.

Its objects are collections and pairs of objects, ``f >> g`` is composition, and ``f & g`` is the product. That pairs
are nested shows in the law of associativity alone, whose sides differ by parentheses.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from flowalg import KV, Interpreter, PCollection, PTransform, Sum, Timeline
from flowalg.transforms import Copy, FanOut, First, Second, Swap
from flowalg.windows import WindowingStrategy
from flowalg_laws.kit.equation import Equation
from flowalg_laws.kit.interpreters import apply_windowing
from flowalg_laws.kit.law import Law, law
from flowalg_laws.kit.readings import READINGS, VALUES, Reading
from flowalg_laws.kit.structures import MONOID, Action, Model, Operation, action, itself, laws_of
from flowalg_laws.laws.transforms import Pair, Panes

Pairs: TypeAlias = PCollection[Pair]
Two: TypeAlias = tuple[Pairs, Pairs]
Transform: TypeAlias = PTransform[Pairs, Pairs]
Product: TypeAlias = PTransform[Two, Two]


def _composition(f: Transform, g: Transform, h: Transform) -> Model[Transform, Transform]:
    return Model(PTransform.__rshift__, (f, g, h), itself, (IDENTITY,))


def _application(f: Transform, g: Transform) -> Action[PCollection[Pair], Transform, PCollection[Pair]]:
    return Action(PCollection.apply, VALUES, f, g, PTransform.__rshift__, IDENTITY, itself)


def _composition_of_pairs(f: Transform, g: Transform, h: Transform) -> Model[Product, Product]:
    return Model(PTransform.__rshift__, (f & g, (g & h) >> Swap(), h & f), itself, (PAIR,))


IDENTITY: Final[Transform] = PTransform.identity(KV[str, int])
PAIR: Final[Product] = IDENTITY & IDENTITY
COMPOSITION: Final = Operation(
    "composition", "compose", _composition, "SEMANTICS 18; a category", ">>", ("identity",)
)
COMPOSITION_OF_PAIRS: Final = Operation(
    "composition_of_pairs",
    "compose",
    _composition_of_pairs,
    "SEMANTICS 18; a category",
    ">>",
    ("identity & identity",),
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


@law
def products_interchange_with_composition(
    f: Transform, g: Transform, h: Transform, k: Transform
) -> Equation[Product]:
    """``(f & g) >> (h & k) = (f >> h) & (g >> k)``.

    Source: SEMANTICS 18; a monoidal category: the product is a functor.

    Relied on by: reading a pipeline by its steps or by its branches.
    """
    return Equation((f & g) >> (h & k), (f >> h) & (g >> k))


@law
def a_product_of_identities_is_the_identity(f: Transform) -> Equation[Product]:
    """``identity & identity`` returns both collections as they are.

    Source: SEMANTICS 18; a monoidal category: the product is a functor.
    """
    return Equation(f & IDENTITY, PTransform.of(KV[str, int], KV[str, int], lambda a, b: (f(a), b)))


@law
def products_act_on_pairs(f: Transform, g: Transform) -> Equation[Two]:
    """``(a, b) >> (f & g) = (a >> f, b >> g)``.

    Source: SEMANTICS 18; the action of a monoidal category on pairs of collections.

    Relied on by: applying transforms with several inputs.
    """
    first, second = VALUES, VALUES.filter(lambda pair: pair.value > 0)
    return Equation((first, second) >> (f & g), (first >> f, second >> g))


def _regroup(pairs: tuple[Two, Pairs]) -> tuple[Pairs, Two]:
    (a, b), c = pairs
    return a, (b, c)


@law
def products_are_associative(f: Transform, g: Transform, h: Transform) -> Equation[object]:
    """``(f & g) & h = f & (g & h)``, but for the parentheses around the collections.

    Source: SEMANTICS 18; a monoidal category.

    Relied on by: products of three and more transforms.
    """
    left = (f & g) & h
    right = (IDENTITY & IDENTITY) & IDENTITY
    return Equation(left >> _regroup, right >> _regroup >> (f & (g & h)))


@law
def swapping_twice_is_the_identity(f: Transform, g: Transform) -> Equation[Product]:
    """``(f & g) >> Swap() >> Swap() = f & g``.

    Source: SEMANTICS 18; a symmetric monoidal category.
    """
    return Equation((f & g) >> Swap() >> Swap(), f & g)


@law
def swaps_are_natural(f: Transform, g: Transform) -> Equation[Product]:
    """``(f & g) >> Swap() = Swap() >> (g & f)``.

    Source: SEMANTICS 18; a symmetric monoidal category.

    Relied on by: putting the sides of a join in the order that it needs.
    """
    return Equation((f & g) >> Swap(), PAIR >> Swap() >> (g & f))


@law
def a_swap_with_a_pair_is_two_swaps(f: Transform, g: Transform, h: Transform) -> Equation[object]:
    """To swap a collection with a pair is to swap it with each of the two.

    Source: SEMANTICS 18; a symmetric monoidal category: the hexagon.
    """

    def one_by_one(given: tuple[Two, Pairs]) -> tuple[Pairs, Two]:
        (a, b), c = given
        (c, b) = Swap()((b, c))
        (c, a) = Swap()((a, c))
        return c, (a, b)

    three = (f & g) & h
    return Equation(three >> Swap(), three >> one_by_one)


@law
def first_and_second_are_products(f: Transform, g: Transform) -> Equation[Product]:
    """``First(f) >> Second(g) = f & g``.

    Source: SEMANTICS 18; arrows (Hughes, Generalising monads to arrows).
    """
    return Equation(PAIR >> First(f) >> Second(g), f & g)


@law
def a_fan_out_is_a_copy_and_a_product(
    f: Transform, g: Transform, h: Transform
) -> Equation[PTransform[Pairs, Two]]:
    """``FanOut(f, g) = Copy() >> (f & g)``.

    Source: SEMANTICS 18; arrows (Hughes, Generalising monads to arrows).
    """
    return Equation(h >> FanOut(f, g), h >> Copy() >> (f & g))


@law
def copies_are_natural(f: Transform) -> Equation[PTransform[Pairs, Two]]:
    """``f >> Copy() = Copy() >> (f & f)``: to compute a value twice is to compute it once, since functions are pure.

    Source: SEMANTICS 18; a Cartesian category.

    Relied on by: sharing a collection that several others read.
    """
    return Equation(f >> Copy(), IDENTITY >> Copy() >> (f & f))


TRANSFORM_LAWS: tuple[Law[..., object], ...] = (
    *laws_of(COMPOSITION, *MONOID),
    *action(
        "application",
        _application,
        APPLICATION,
        source="SEMANTICS 18; the action of a category on collections",
    ),
    *laws_of(COMPOSITION_OF_PAIRS, *MONOID),
    products_interchange_with_composition,
    a_product_of_identities_is_the_identity,
    products_act_on_pairs,
    products_are_associative,
    swapping_twice_is_the_identity,
    swaps_are_natural,
    a_swap_with_a_pair_is_two_swaps,
    first_and_second_are_products,
    a_fan_out_is_a_copy_and_a_product,
    copies_are_natural,
    names_change_no_meaning,
)
"""All laws of transforms and their composition."""
