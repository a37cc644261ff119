"""The laws of functor and monad as ``returns`` states them, for the elements of a collection in the reference.

``returns`` checks its laws on values and functions that it generates. Its applicative laws do not fit: they need
elements that are functions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import ClassVar, Final, TypeVar, cast, get_args, get_origin

import flowalg_reference
from attrs import field, frozen
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from returns.contrib.hypothesis.laws import check_all_laws
from returns.contrib.hypothesis.type_resolver import StrategyFactory
from returns.interfaces.bindable import Bindable1
from returns.interfaces.container import ContainerN
from returns.interfaces.mappable import Mappable1, MappableN
from returns.primitives.hkt import KindN, SupportsKind1
from returns.primitives.laws import Law

from flowalg import PCollection, Source
from flowalg.transforms import FlatMap, Map

A = TypeVar("A")
B = TypeVar("B")


@frozen
class Row:
    """The place of an element."""

    place: int
    at: datetime


ROWS: Final = Source("rows", Row, event_time=lambda row: row.at)
NOON: Final = datetime(2024, 1, 1, 12, tzinfo=UTC)


@frozen
class Bag(SupportsKind1["Bag", A], Mappable1[A], Bindable1[A]):  # type: ignore[type-arg]
    """The elements of a collection, in any order."""

    elements: tuple[A, ...] = field(eq=lambda elements: Counter(elements))
    _laws: ClassVar[Sequence[Law]] = (*MappableN._laws, *ContainerN._laws)

    @classmethod
    def from_value(cls, inner_value: B) -> Bag[B]:
        """Returns the bag of one element."""
        return Bag((inner_value,))

    def map(self, function: Callable[[A], B]) -> Bag[B]:
        """Returns the elements of ``Map(function)``."""
        return self._run(lambda collection: collection >> Map(function))

    def bind(self, function: Callable[[A], Bag[B]]) -> Bag[B]:  # type: ignore[override]  # functions give bags
        """Returns the elements of ``FlatMap``, with those of the bags."""

        def elements(inner: A) -> tuple[B, ...]:
            return function(inner).elements

        return self._run(lambda collection: collection >> FlatMap(elements))

    def _run(self, build: Callable[[PCollection[A]], PCollection[B]]) -> Bag[B]:
        elements = ROWS.map(lambda row: self.elements[row.place])
        records = [Row(place, NOON) for place in range(len(self.elements))]
        run = flowalg_reference.run_batch(build(elements), {ROWS: records})
        return Bag(tuple(element.element for element in run.elements))


def integers(_: object) -> SearchStrategy[int]:
    """Returns a strategy for elements."""
    return st.integers(0, 9)


def bags(_: object) -> SearchStrategy[Bag[int]]:
    """Returns a strategy for bags."""
    return st.builds(Bag[int], st.lists(st.integers(0, 9), max_size=4).map(tuple))


def functions(kind: object) -> SearchStrategy[Callable[[int], object]]:
    """Returns a strategy for pure functions that return elements or bags."""
    *_, result = get_args(kind)
    returns = bags(result) if get_origin(result) is KindN else integers(result)
    return st.functions(like=lambda inner: None, returns=returns, pure=True)


STRATEGIES: Final[dict[type[object], StrategyFactory[object]]] = {
    TypeVar: integers,
    ContainerN: bags,
    cast("type[object]", Callable): functions,
}

check_all_laws(Bag, container_strategy=bags, settings_kwargs={"deadline": None}, type_strategies=STRATEGIES)
