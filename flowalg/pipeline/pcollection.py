"""The user's handle on a pipeline: ``PCollection[A]``, a typed value over an untyped node (DM, section 2.1).

Nothing runs here. A collection is an immutable expression; its methods give larger expressions, and an
interpreter gives them meaning. Every function is typed from its collection, so lambdas need no annotations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from types import GenericAlias
from typing import Generic, TypeVar, cast, overload

from attrs import field, frozen
from returns.result import Result

from flowalg.combiners.collections import ToList, TopN
from flowalg.combiners.core import Aggregate, Count, require_combiner
from flowalg.combiners.product import product_of
from flowalg.data.errors import ArgumentError, KeyedCollectionError
from flowalg.data.kv import KV
from flowalg.data.shapes import TIMESTAMP, ElementType, RecordOf, Shape
from flowalg.data.views import HasView
from flowalg.elementwise.functions import Call, OnValue, Spread, WithKey, describe_function
from flowalg.elementwise.splitting import IsA, Outcomes, Selected
from flowalg.elementwise.steps import Filter, FlatMap, Map, Split, Step, WithTimestamps
from flowalg.pipeline.holes import fill, require_name
from flowalg.pipeline.joins import inner_join, left_join
from flowalg.pipeline.nodes import (
    CoGroupByKey,
    CombinePerKey,
    ElementWise,
    Flatten,
    GroupingKind,
    Hole,
    Node,
    WindowInto,
    WithSide,
    combine,
    outline,
    require_keyed,
)
from flowalg.pipeline.side_inputs import NO_DEFAULT, AsMap, Singleton, View, require_readable
from flowalg.triggers.syntax import DEFAULT_TRIGGER, Trigger
from flowalg.windows.strategy import (
    Accumulation,
    AllowedLateness,
    OnTimeBehavior,
    TimestampCombiner,
    WindowingStrategy,
)
from flowalg.windows.window_functions import WindowFn

A_co = TypeVar("A_co", covariant=True)
A = TypeVar("A")
B = TypeVar("B")
K = TypeVar("K")
V = TypeVar("V")
R = TypeVar("R")
Out1 = TypeVar("Out1")
Out2 = TypeVar("Out2")
Out3 = TypeVar("Out3")
Out4 = TypeVar("Out4")


@frozen
class SideInput(Generic[A_co]):
    """What each window of a collection comes to, for the elements of another one to read.

    Made by ``as_singleton`` and ``as_map``; read by ``with_side``, ``map_with``, ``filter_with`` and ``flat_map_with``.
    """

    node: Node = field(repr=outline)
    view: View

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.node, Node) or not isinstance(self.view, View):
            made = "made by as_singleton() or as_map()"
            raise ArgumentError("SideInput", (self.node, self.view), made)
        require_readable(self.node.windowing.strategy.windows, self.view)


@frozen
class PCollection(HasView, Generic[A_co]):
    """A collection of elements of type ``A``, each with a value, an event time, a window and a weight.

    ``result``, where a method has it, is the type of what the function returns. It is only needed for a
    lambda whose result type Spark could not know otherwise; the error that asks for it says so.
    """

    node: Node = field(repr=outline)

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.node, Node):
            raise ArgumentError("PCollection.node", self.node, "a node; collections begin with Source(...)")
        _ = self.node.shape  # raises here, where the pipeline is built, for what is not an element type

    def map(self, f: Callable[[A_co], B], *, result: type[B] | None = None) -> PCollection[B]:
        """``f`` of each element. Law: ``map(f).map(g) = map(g after f)``."""
        return PCollection(self._then(Map(Call(f, result))))

    def filter(self, predicate: Callable[[A_co], bool]) -> PCollection[A_co]:
        """The elements of which ``predicate`` says ``True``; it must give a ``bool``."""
        return PCollection(self._then(Filter(Call(predicate))))

    def flat_map(self, f: Callable[[A_co], Iterable[B]], *, result: type[B] | None = None) -> PCollection[B]:
        """All that ``f`` gives for each element, in order. ``result`` is the type of one item."""
        return PCollection(self._then(FlatMap(Call(f, _list_of(result)))))

    def key_by(self, f: Callable[[A_co], K], *, result: type[K] | None = None) -> PCollection[KV[K, A_co]]:
        """Each element under the key that ``f`` gives for it."""
        return PCollection(self._then(Map(WithKey(Call(f, result)), "key_by")))

    def map_values(
        self: PCollection[KV[K, V]], f: Callable[[V], B], *, result: type[B] | None = None
    ) -> PCollection[KV[K, B]]:
        """``f`` of each value; keys stay. Raises ``KeyedCollectionError`` on an unkeyed collection."""
        return PCollection(self._keywise(Map(OnValue(Call(f, result)), "map_values")))

    def window(
        self,
        windows: WindowFn,
        *,
        trigger: Trigger = DEFAULT_TRIGGER,
        accumulation: Accumulation = Accumulation.ACCUMULATING,
        allowed_lateness: AllowedLateness | None = None,
        timestamp_combiner: TimestampCombiner = TimestampCombiner.END_OF_WINDOW,
        on_time_behavior: OnTimeBehavior = OnTimeBehavior.IF_CHANGED,
    ) -> PCollection[A_co]:
        """Where in event time, when in processing time, and how panes refine each other (DM, section 1).

        Takes effect at the groupings that follow, until the next ``window``. ``allowed_lateness`` is how far the
        watermark may pass a window's end before later elements are dropped (and counted); ``FOREVER`` drops
        nothing. ``timestamp_combiner`` is which event time panes carry, and ``on_time_behavior`` whether an
        unchanged window still has an on-time pane. Unset lateness means ``FOREVER``, except that streaming refuses
        to keep state for ever unasked.
        """
        strategy = WindowingStrategy(
            windows, trigger, accumulation, allowed_lateness, timestamp_combiner, on_time_behavior
        )
        return PCollection(WindowInto(self.node, strategy))

    @overload
    def combine_per_key(self: PCollection[KV[K, V]], first: Aggregate[V, B], /) -> PCollection[KV[K, B]]: ...
    @overload
    def combine_per_key(
        self: PCollection[KV[K, V]], first: Aggregate[V, Out1], /, *, into: Callable[[Out1], R]
    ) -> PCollection[KV[K, R]]: ...
    @overload
    def combine_per_key(
        self: PCollection[KV[K, V]], first: Aggregate[V, Out1], second: Aggregate[V, Out2], /
    ) -> PCollection[KV[K, tuple[Out1, Out2]]]: ...
    @overload
    def combine_per_key(
        self: PCollection[KV[K, V]],
        first: Aggregate[V, Out1],
        second: Aggregate[V, Out2],
        /,
        *,
        into: Callable[[Out1, Out2], R],
    ) -> PCollection[KV[K, R]]: ...
    @overload
    def combine_per_key(
        self: PCollection[KV[K, V]],
        first: Aggregate[V, Out1],
        second: Aggregate[V, Out2],
        third: Aggregate[V, Out3],
        /,
    ) -> PCollection[KV[K, tuple[Out1, Out2, Out3]]]: ...
    @overload
    def combine_per_key(
        self: PCollection[KV[K, V]],
        first: Aggregate[V, Out1],
        second: Aggregate[V, Out2],
        third: Aggregate[V, Out3],
        /,
        *,
        into: Callable[[Out1, Out2, Out3], R],
    ) -> PCollection[KV[K, R]]: ...
    @overload
    def combine_per_key(
        self: PCollection[KV[K, V]],
        first: Aggregate[V, Out1],
        second: Aggregate[V, Out2],
        third: Aggregate[V, Out3],
        fourth: Aggregate[V, Out4],
        /,
    ) -> PCollection[KV[K, tuple[Out1, Out2, Out3, Out4]]]: ...
    @overload
    def combine_per_key(
        self: PCollection[KV[K, V]],
        first: Aggregate[V, Out1],
        second: Aggregate[V, Out2],
        third: Aggregate[V, Out3],
        fourth: Aggregate[V, Out4],
        /,
        *,
        into: Callable[[Out1, Out2, Out3, Out4], R],
    ) -> PCollection[KV[K, R]]: ...
    def combine_per_key(
        self, *combiners: object, into: Callable[..., object] | None = None
    ) -> PCollection[object]:
        """One value per key and window, combined from all of that key's values in the window.

        With several combiners the values are read once and the result is a tuple, or what ``into`` makes of
        the results: a record class names them. Raises ``KeyedCollectionError`` on an unkeyed collection.
        """
        return PCollection(combine(self.node, product_of(combiners, into), GroupingKind.COMBINE_PER_KEY))

    def group_by_key(self: PCollection[KV[K, V]]) -> PCollection[KV[K, list[V]]]:
        """All values of each key and window, in order of event time and, within one, of arrival."""
        combiner = require_combiner("combiner", ToList())
        return PCollection(CombinePerKey(self.node, combiner, GroupingKind.GROUP_BY_KEY))

    @overload
    def co_group_by_key(
        self: PCollection[KV[K, V]], second: PCollection[KV[K, Out2]], /
    ) -> PCollection[KV[K, tuple[list[V], list[Out2]]]]: ...
    @overload
    def co_group_by_key(
        self: PCollection[KV[K, V]], second: PCollection[KV[K, Out2]], third: PCollection[KV[K, Out3]], /
    ) -> PCollection[KV[K, tuple[list[V], list[Out2], list[Out3]]]]: ...
    @overload
    def co_group_by_key(
        self: PCollection[KV[K, V]],
        second: PCollection[KV[K, Out2]],
        third: PCollection[KV[K, Out3]],
        fourth: PCollection[KV[K, Out4]],
        /,
    ) -> PCollection[KV[K, tuple[list[V], list[Out2], list[Out3], list[Out4]]]]: ...
    def co_group_by_key(self, *others: PCollection[object]) -> PCollection[object]:
        """For each key and window, the values of this and of one to three other collections.

        All have keys of one type, and one windowing strategy: put into the same windows in the same way. A key that
        only some of them have gets an empty list from the others.
        """
        _require_all_keyed("co_group_by_key", (self, *others))
        return PCollection(CoGroupByKey((self.node, *(other.node for other in others))))

    def inner_join(
        self: PCollection[KV[K, V]], right: PCollection[KV[K, B]]
    ) -> PCollection[KV[K, tuple[V, B]]]:
        """Each pair of a value of this and one of ``right``, of one key and window."""
        _require_all_keyed("inner_join", (self, right))
        return PCollection(inner_join(self.node, right.node))

    def left_join(
        self: PCollection[KV[K, V]], right: PCollection[KV[K, B]]
    ) -> PCollection[KV[K, tuple[V, B | None]]]:
        """Each value with each of ``right`` of its key and window, or with ``None`` where there is none."""
        _require_all_keyed("left_join", (self, right))
        return PCollection(left_join(self.node, right.node))

    def combine_globally(self, combiner: Aggregate[A_co, B]) -> PCollection[B]:
        """One value per window, combined from all elements in it, whatever their key; several go ``together``."""
        everything = ElementWise.after(self.node, Map(WithKey(Call(_one_key)), "combine_globally"))
        grouped = combine(everything, require_combiner("combiner", combiner), GroupingKind.COMBINE_GLOBALLY)
        return PCollection(ElementWise.after(grouped, Map(Call(_value_of), "combine_globally")))

    def distinct(self) -> PCollection[A_co]:
        """Each element that is in a window, once for each of the window's panes."""
        counted = CombinePerKey(
            ElementWise.after(self.node, Map(WithKey(Call(_itself)), "distinct")),
            require_combiner("", Count()),
            GroupingKind.DISTINCT,
        )
        return PCollection(ElementWise.after(counted, Map(Call(_key_of), "distinct")))

    def top(self, n: int, *, by: Callable[[A_co], object] | None = None) -> PCollection[list[A_co]]:
        """The ``n`` greatest elements of each window, the greatest first, by ``by`` or by themselves."""
        return self.combine_globally(TopN(n, by))

    def with_timestamps(self, f: Callable[[A_co], datetime]) -> PCollection[A_co]:
        """The same elements with event times that ``f`` gives; one behind the watermark makes its element late.

        Place it before ``window``: elements that have come out of a grouping keep the window that they came in.
        """
        node = ElementWise.after(self.node, WithTimestamps(Call(f)))
        given = node.analyses[-1].expression.shape
        if given is not None and given != TIMESTAMP:
            valid = f"a function to a datetime; this one gives {given}"
            raise ArgumentError("with_timestamps", describe_function(f), valid)
        return PCollection(node)

    def split(
        self,
        f: Callable[[A_co], Result[B, R]],
        *,
        result: type[B] | None = None,
        failure: type[R] | None = None,
    ) -> tuple[PCollection[B], PCollection[R]]:
        """Two collections: the values that ``f`` returns as ``Success``, and those that it returns as ``Failure``.

        A parser is such a function: ``good, bad = lines.split(parse)``. ``f`` runs once for each element; on Spark it
        runs once for each of the two collections that a query reads. ``result`` and ``failure`` are the types of the
        two, for a function that is not annotated with them.
        """
        Call(f)  # which refuses a value that is not callable
        outcomes = self._then(Split(Call(Outcomes(f))))
        successes = FlatMap(Call(Selected(f, 0), _list_of(result)), "split")
        failures = FlatMap(Call(Selected(f, 1), _list_of(failure)), "split")
        return PCollection(ElementWise.after(outcomes, successes)), PCollection(
            ElementWise.after(outcomes, failures)
        )

    def only(self, kind: type[B]) -> PCollection[B]:
        """The elements that are of a class: one of the outputs of a function that tags by type."""
        if not isinstance(kind, type):
            raise ArgumentError("kind", kind, "a class")
        return PCollection(self._then(Filter(Call(IsA(kind)), "only")))

    @overload
    def as_singleton(self) -> SideInput[A_co]: ...
    @overload
    def as_singleton(self, *, default: B) -> SideInput[A_co | B]: ...
    def as_singleton(self, *, default: object = NO_DEFAULT) -> SideInput[object]:
        """This collection as a side input: the one value of each window, or ``default`` where there is none.

        A window with two values, or with none and no default, is an ``ElementError`` when an element reads it.
        Raises ``ArgumentError`` for windows that overlap, leave gaps, merge, or differ between keys.
        """
        return SideInput(self.node, Singleton(default))

    def as_map(self: PCollection[KV[K, V]]) -> SideInput[Mapping[K, V]]:
        """This collection as a side input: each window's keys with their values, of which each key has one.

        Raises ``KeyedCollectionError`` on an unkeyed collection, and ``ArgumentError`` as ``as_singleton`` does.
        """
        shape = self.node.shape
        if shape is not None:
            require_keyed(shape, "as_map")
        return SideInput(self.node, AsMap())

    def with_side(self, side: SideInput[B]) -> PCollection[tuple[A_co, B]]:
        """Each element beside what its window of a side input comes to (Dataflow Model, section 2.1).

        That is the side's window that contains the element's event time. The element waits until that window is
        complete, and holds the watermark of what follows back; what it reads never changes afterwards. Elements of
        the side that come after that are dropped as closed. To have results corrected by them, join instead.
        """
        if not isinstance(side, SideInput):
            raise ArgumentError("side", side, "a side input, as as_singleton() and as_map() give")
        return PCollection(WithSide(self.node, side.node, side.view))

    def map_with(
        self, side: SideInput[V], f: Callable[[A_co, V], B], *, result: type[B] | None = None
    ) -> PCollection[B]:
        """``f`` of each element and what it reads of a side input; see ``with_side``."""
        return PCollection(self.with_side(side)._then(Map(Spread(Call(f, result)), "map_with")))

    def flat_map_with(
        self, side: SideInput[V], f: Callable[[A_co, V], Iterable[B]], *, result: type[B] | None = None
    ) -> PCollection[B]:
        """All that ``f`` gives for each element and what it reads of a side input; see ``with_side``."""
        call = Call(f, _list_of(result))
        return PCollection(self.with_side(side)._then(FlatMap(Spread(call), "flat_map_with")))

    def filter_with(self, side: SideInput[V], predicate: Callable[[A_co, V], bool]) -> PCollection[A_co]:
        """The elements of which ``predicate`` says ``True``, given what they read of a side input."""
        kept = self.with_side(side)._then(Filter(Spread(Call(predicate)), "filter_with"))
        return PCollection(ElementWise.after(kept, Map(Call(_first), "filter_with")))

    def apply(self, transform: Callable[[PCollection[A_co]], B], *, label: str | None = None) -> B:
        """Applies a transform: a ``PTransform``, or any function from this collection.

        ``label`` names the steps of a function, which is shown as one box then: it must return a collection, or a
        tuple of collections. A ``PTransform`` has its own name. Law: ``c.apply(f >> g) == c.apply(f).apply(g)``.
        """
        if not callable(transform):
            raise ArgumentError("transform", transform, "a PTransform, or a function from a PCollection")
        return transform(self) if label is None else self._labelled(transform, label)

    def _labelled(self, transform: Callable[[PCollection[A_co]], B], label: str) -> B:
        """The result of a function, with the steps that it adds in the scope ``label``."""
        require_name("label", label)
        hole = Hole(self.node.shape, self.node)
        made = transform(PCollection(hole))
        found: list[PCollection[object]] = []
        for each in made if isinstance(made, tuple) else (made,):
            if not isinstance(each, PCollection):
                raise ArgumentError(f"the result of {label!r}", made, "a PCollection, or a tuple of them")
            found.append(PCollection(fill(hole, each.node, self.node, label)))
        return cast("B", tuple(found) if isinstance(made, tuple) else found[0])

    def _then(self, step: Step) -> ElementWise:
        return ElementWise.after(self.node, step)

    def _keywise(self, step: Step) -> ElementWise:
        shape = self.node.shape
        if shape is not None:
            require_keyed(shape, step.label)
        return self._then(step)

    @property
    def shape(self) -> Shape | None:
        """The shape of the elements; ``None`` where only running the user's functions would tell."""
        return self.node.shape


def flatten(*collections: PCollection[A]) -> PCollection[A]:
    """Several collections as one: the union of their elements, as bags.

    All must be in the same windows. The watermark is the least of theirs. Law: associative and commutative.
    """
    if not collections:
        raise ArgumentError("collections", collections, "one or more collections")
    for number, one in enumerate(collections, start=1):
        if not isinstance(one, PCollection):
            raise ArgumentError(f"collection {number}", one, "a PCollection")
    return PCollection(Flatten(tuple(one.node for one in collections)))


def _require_all_keyed(transform: str, collections: Iterable[object]) -> None:
    """Raises unless all are collections of ``KV`` pairs whose keys, where their types are known, have one type."""
    keys: dict[Shape, int] = {}
    for number, one in enumerate(collections, start=1):
        if not isinstance(one, PCollection):
            raise ArgumentError(f"collection {number} of {transform}", one, "a keyed PCollection")
        shape = one.shape
        if shape is not None:
            require_keyed(shape, transform)
        if isinstance(shape, RecordOf):
            keys.setdefault(shape.fields[0].shape, number)
    if len(keys) > 1:
        (first, one_number), (other, number), *_ = keys.items()
        raise KeyedCollectionError(
            f"{transform} needs keys of one type: those of collection {one_number} are {first}, "
            f"and those of collection {number} are {other}"
        )


def _list_of(item: type | None) -> ElementType:
    """The type of a list of items of a type, if that is said."""
    return None if item is None else GenericAlias(list, (item,))


def _one_key(element: object) -> int:
    return 0


def _itself(element: object) -> object:
    return element


def _first(pair: tuple[object, object]) -> object:
    return pair[0]


def _value_of(pair: KV[object, object]) -> object:
    return pair.value


def _key_of(pair: KV[object, object]) -> object:
    return pair.key


__all__ = ["PCollection", "flatten"]
