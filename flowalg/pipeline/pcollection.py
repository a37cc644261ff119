"""``PCollection[A]``, the user's handle on a pipeline: a typed value over an untyped node (DM, section 2.1).

Nothing runs here. A collection is an immutable expression; its methods return larger expressions, and an interpreter
evaluates them. The types of functions are inferred from the collection, so lambdas need no annotations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from types import GenericAlias
from typing import Generic, TypeVar, cast, overload

from attrs import field, frozen
from returns.maybe import Maybe, Some
from returns.result import Failure, Result, Success

from flowalg.combiners.collections import ToList, TopN
from flowalg.combiners.core import Aggregate, Count, require_combiner
from flowalg.combiners.product import product_of
from flowalg.computations.computation import Late, Processor, require_computation
from flowalg.computations.library import deduplication, tuples
from flowalg.data.errors import ArgumentError, KeyedCollectionError, require_flag, require_text
from flowalg.data.kv import KV
from flowalg.data.metadata import Metadata, PaneTiming, WindowBounds
from flowalg.data.shapes import ElementType, Nullable, RecordOf, Shape
from flowalg.data.views import HasView
from flowalg.elementwise.failed import Failed
from flowalg.elementwise.functions import Call, OnValue, Spread, WithKey
from flowalg.elementwise.steps import Filter, FlatMap, Map, Step, WithTimestamps
from flowalg.lifting.members import IsA, Narrow
from flowalg.lifting.outcomes import ContainerClass, Is, Tried, ValueOf, maybe_type, result_type
from flowalg.pipeline.bundles import leaves, nested_like
from flowalg.pipeline.holes import fill
from flowalg.pipeline.joins import (
    JoinKind,
    by_itself,
    can_match,
    each_pair,
    has_key,
    may_have_none,
    step_apart,
)
from flowalg.pipeline.nodes import (
    CoGroupByKey,
    CombinePerKey,
    ElementWise,
    Flatten,
    GroupingKind,
    Hole,
    Node,
    Process,
    WindowInto,
    WithMetadata,
    WithSide,
    combine,
    outline,
    require_groupable,
    require_keyed,
)
from flowalg.pipeline.partition import require_member, require_partition
from flowalg.pipeline.side_inputs import (
    NO_DEFAULT,
    AsMap,
    LatestComplete,
    Singleton,
    View,
    require_readable,
)
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
    """The result of each window of a collection, which the elements of another collection read.

    ``as_singleton`` and ``as_map`` make side inputs, and ``latest_complete`` makes one of them a table that changes
    slowly; they are read by ``with_side``, ``map_with``, ``filter_with`` and ``flat_map_with``.
    """

    node: Node = field(repr=outline)
    view: View

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.node, Node) or not isinstance(self.view, View):
            made = "made by as_singleton() or as_map()"
            raise ArgumentError("SideInput", (self.node, self.view), made)
        require_readable(self.node.windowing.strategy.windows, self.view)

    def latest_complete(self) -> SideInput[A_co]:
        """Returns the side input as a table that changes slowly, for enrichment: its newest complete values.

        An element reads the values that were complete at its event time: those of the windows that end at or before
        it. A singleton is the value of the newest of these windows that has one, and a mapping has the newest value
        of each key. The element waits until the watermark of the side input has passed these windows, so what it reads
        does not depend on the order of arrival. Raises ``ArgumentError`` for other than fixed and calendar windows.

        Example:

        >>> totals = points.window(FixedWindows(2 * MINUTE)).combine_per_key(Sum()).as_map().latest_complete()
        >>> results(points.map_with(totals, lambda pair, known: (pair.value, known.get("red"))).distinct())
        [(3, 5), (5, None), (7, None)]
        """
        if isinstance(self.view, LatestComplete):
            raise ArgumentError(
                "the side input of latest_complete()", self.view, "as_singleton() or as_map()"
            )
        return SideInput(self.node, LatestComplete(self.view))


@frozen
class PCollection(HasView, Generic[A_co]):
    """A collection of elements of type ``A``, each with a value, an event time, a window and a weight.

    ``result``, in methods that have it, is the result type of the function. It is only needed for functions whose
    result type Spark cannot derive; an error then asks for it.
    """

    node: Node = field(repr=outline)

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.node, Node):
            raise ArgumentError("PCollection.node", self.node, "a node; collections begin with Source(...)")

    def map(self, f: Callable[[A_co], B], *, result: type[B] | None = None) -> PCollection[B]:
        """Returns ``f`` of each element. Law: ``map(f).map(g) = map(g after f)``.

        Example:

        >>> results(scores.map(lambda s: 10 * s.points).distinct())
        [30, 50, 70]
        """
        return PCollection(self._then(Map(Call(f, result))))

    def filter(self, predicate: Callable[[A_co], bool]) -> PCollection[A_co]:
        """Returns the elements for which ``predicate`` returns ``True``; it must return a ``bool``.

        Example:

        >>> results(scores.filter(lambda s: s.points > 4).map(lambda s: s.team).distinct())
        ['blue', 'red']
        """
        return PCollection(self._then(Filter(Call(predicate))))

    def flat_map(self, f: Callable[[A_co], Iterable[B]], *, result: type[B] | None = None) -> PCollection[B]:
        """Returns the items that ``f`` returns for each element, in order. ``result`` is the type of an item.

        Example:

        >>> results(scores.flat_map(lambda s: [s.team, s.team.upper()]).distinct())
        ['BLUE', 'RED', 'blue', 'red']
        """
        return PCollection(self._then(FlatMap(Call(f, _list_of(result)))))

    def key_by(self, f: Callable[[A_co], K], *, result: type[K] | None = None) -> PCollection[KV[K, A_co]]:
        """Pairs each element with the key that ``f`` returns for it.

        Example:

        >>> results(scores.key_by(lambda s: s.team).combine_per_key(Count()))
        [KV(key='blue', value=1), KV(key='red', value=2)]
        """
        return PCollection(self._then(Map(WithKey(Call(f, result)), "key_by")))

    def map_values(
        self: PCollection[KV[K, V]], f: Callable[[V], B], *, result: type[B] | None = None
    ) -> PCollection[KV[K, B]]:
        """Returns ``f`` of each value, with the same key. Raises ``KeyedCollectionError`` on an unkeyed collection."""
        return PCollection(self._keywise(Map(OnValue(Call(f, result)), "map_values")))

    def window(
        self,
        windows: WindowFn,
        *,
        trigger: Trigger = DEFAULT_TRIGGER,
        accumulation: Accumulation | None = None,
        allowed_lateness: AllowedLateness | None = None,
        timestamp_combiner: TimestampCombiner = TimestampCombiner.END_OF_WINDOW,
        on_time_behavior: OnTimeBehavior = OnTimeBehavior.IF_CHANGED,
    ) -> PCollection[A_co]:
        """Sets the windows, the trigger and the refinements of the groupings that follow (DM, section 1).

        It applies until the next ``window``. ``allowed_lateness`` is how far the watermark may pass the end of a window
        before late elements are dropped (and counted); with ``FOREVER`` nothing is dropped. ``timestamp_combiner``
        selects the event time of panes, and ``on_time_behavior`` whether an unchanged window emits an on-time pane. An
        unset lateness means ``FOREVER``, but streaming rejects it for finite windows. With an unset ``accumulation``,
        panes are RETRACTING if a window can emit several, and another grouping or a side input reads them, so that
        corrections count once, or only a retraction can tell that a pane of the output is outdated: the elements of the
        grouping can be retracted, its windows merge, or a filter follows it. Other panes are ACCUMULATING.

        Example:

        >>> totals = points.window(
        ...     FixedWindows(2 * MINUTE),
        ...     trigger=AtWatermark().with_early_firings(AtPeriod(MINUTE)),
        ...     accumulation=Accumulation.RETRACTING,
        ...     allowed_lateness=timedelta(hours=1),
        ... ).combine_per_key(Sum())
        >>> results(totals)
        [KV(key='blue', value=7), KV(key='red', value=5), KV(key='red', value=3)]
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
        """Combines the values of each key and window to one value.

        With several combiners the values are read once, and the result is a tuple, or the result of ``into``, such as
        a record class, with the results as arguments. Raises ``KeyedCollectionError`` on an unkeyed collection.

        Example:

        >>> results(points.combine_per_key(Sum()))
        [KV(key='blue', value=7), KV(key='red', value=8)]
        >>> results(points.combine_per_key(Sum(), Count(), into=lambda total, number: total / number))
        [KV(key='blue', value=7.0), KV(key='red', value=4.0)]
        """
        return PCollection(combine(self.node, product_of(combiners, into), GroupingKind.COMBINE_PER_KEY))

    def group_by_key(self: PCollection[KV[K, V]]) -> PCollection[KV[K, list[V]]]:
        """Returns the values of each key and window as a list, ordered by event time, then by value.

        Example:

        >>> results(points.group_by_key())
        [KV(key='blue', value=[7]), KV(key='red', value=[5, 3])]
        """
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
        """Groups the values of this collection and of one to three others by key and window.

        All collections must have the same key type and the same windowing strategy. For a key that a collection lacks,
        its list is empty.

        Example:

        >>> high = points.filter(lambda pair: pair.value > 4)
        >>> results(points.co_group_by_key(high))
        [KV(key='blue', value=([7], [7])), KV(key='red', value=([5, 3], [5]))]
        """
        _require_all_keyed("co_group_by_key", (self, *others))
        return PCollection(CoGroupByKey((self.node, *(other.node for other in others))))

    def inner_join(
        self: PCollection[KV[K, V]], right: PCollection[KV[K, B]]
    ) -> PCollection[KV[K, tuple[V, B]]]:
        """Returns all pairs of a value of this collection and a value of ``right`` with the same key and window.

        Under ``DISCARDING`` a pane has the new pairs: those of which a value is new. All panes together have each pair
        once, so without windows and with a trigger at each element, this is the usual join of two streams. The values
        must not be retracted then. Under ``RETRACTING`` the pairs are retracted and emitted again.

        Example:

        >>> each = points.window(
        ...     GlobalWindows(), trigger=Repeat(AtCount(1)), accumulation=Accumulation.DISCARDING
        ... )
        >>> results(each.inner_join(each.filter(lambda pair: pair.value > 4)))
        [KV(key='blue', value=(7, 7)), KV(key='red', value=(5, 5)), KV(key='red', value=(3, 5))]
        """
        return PCollection(self._join(right, JoinKind.INNER))

    def left_join(
        self: PCollection[KV[K, V]], right: PCollection[KV[K, B]]
    ) -> PCollection[KV[K, tuple[V, B | None]]]:
        """Returns each value paired with each value of ``right`` with its key and window, or with ``None``.

        Under ``DISCARDING`` a window must emit one pane only, since a later value could match one that has been paired
        with ``None``.

        Example:

        >>> high = points.filter(lambda pair: pair.value > 5)
        >>> results(points.left_join(high))
        [KV(key='blue', value=(7, 7)), KV(key='red', value=(5, None)), KV(key='red', value=(3, None))]
        """
        return PCollection(self._join(right, JoinKind.LEFT))

    def full_join(
        self: PCollection[KV[K, V]], right: PCollection[KV[K, B]]
    ) -> PCollection[KV[K, tuple[V | None, B | None]]]:
        """Returns the pairs of ``inner_join``, and each value of either collection without a match with ``None``.

        Under ``DISCARDING`` a window must emit one pane only, as for ``left_join``.

        Example:

        >>> low, high = (points.filter(lambda pair: pair.value < 4), points.filter(lambda pair: pair.value > 5))
        >>> results(low.full_join(high))
        [KV(key='blue', value=(None, 7)), KV(key='red', value=(3, None))]
        """
        return PCollection(self._join(right, JoinKind.FULL))

    def semi_join(self: PCollection[KV[K, V]], right: PCollection[KV[K, B]]) -> PCollection[KV[K, V]]:
        """Returns the pairs of this collection whose key has a value in ``right``, in the same window: each once.

        Under ``DISCARDING`` a pane has those that have been in none, as for ``inner_join``.

        Example:

        >>> high = points.filter(lambda pair: pair.value > 4)
        >>> results(points.semi_join(high.filter(lambda pair: pair.key == "red")))
        [KV(key='red', value=5), KV(key='red', value=3)]
        """
        return PCollection(self._join(right, JoinKind.SEMI))

    def anti_join(self: PCollection[KV[K, V]], right: PCollection[KV[K, B]]) -> PCollection[KV[K, V]]:
        """Returns the pairs of this collection whose key has no value in ``right``, in the same window.

        Law: ``semi_join`` and ``anti_join`` together are the collection. Under ``DISCARDING`` a window must emit one
        pane only, as for ``left_join``.

        Example:

        >>> results(points.anti_join(points.filter(lambda pair: pair.value > 5)))
        [KV(key='red', value=5), KV(key='red', value=3)]
        """
        return PCollection(self._join(right, JoinKind.ANTI))

    def except_(self: PCollection[A], right: PCollection[A]) -> PCollection[A]:
        """Returns the difference of two collections as bags: each element of ``right`` takes away an equal one.

        They are in the same windows, and the earliest elements are taken away first. Law: ``flatten(a, b).except_(b)``
        has the elements of ``a``. Under ``DISCARDING`` a window must emit one pane only, as for ``left_join``. The
        elements are identified by themselves, also if they are pairs: ``final_values(by=lambda element: element)``.

        Example:

        >>> teams, high = scores.map(lambda s: s.team), scores.filter(lambda s: s.points > 4)
        >>> results(teams.except_(high.map(lambda s: s.team)))
        ['red']
        """
        _require_same_elements(JoinKind.EXCEPT.value, self, right)
        name = JoinKind.EXCEPT.value
        sides = tuple(
            ElementWise.after(side.node, Map(WithKey(Call(by_itself)), name)) for side in (self, right)
        )
        apart = CoGroupByKey(sides, JoinKind.EXCEPT, apart=True)
        return PCollection(ElementWise.after(apart, FlatMap(step_apart(JoinKind.EXCEPT, None), name)))

    def combine_globally(self, combiner: Aggregate[A_co, B]) -> PCollection[B]:
        """Combines all elements of each window, regardless of keys; for several combiners use ``together``.

        Example:

        >>> results(scores.combine_globally(Max.of(lambda s: s.points)))
        [7]
        """
        everything = ElementWise.after(self.node, Map(WithKey(Call(_one_key)), "combine_globally"))
        grouped = combine(everything, require_combiner("combiner", combiner), GroupingKind.COMBINE_GLOBALLY)
        return PCollection(ElementWise.after(grouped, Map(Call(_value_of), "combine_globally")))

    def process(
        self: PCollection[KV[K, V]],
        computation: Processor[K, V, B],
        *,
        in_order: bool = False,
        late: Late | None = None,
    ) -> PCollection[KV[K, B]]:
        """Runs a computation over the elements of each key, with state and timers; its outputs keep the key.

        In an instant, it observes the elements of a key by event time; then the timers fire that are due. With
        ``in_order`` an element waits until the watermark has passed it, so that all elements are observed by event
        time, and timers fire between them; then the outputs do not depend on the order of arrival, and later elements
        are dropped. Otherwise ``late`` says what happens to elements behind the watermark: by default they are
        observed.

        Windows of the input have no effect. The outputs are new elements, which the next grouping assigns to the
        windows in force. Raises ``ArgumentError`` if the input can be retracted and the computation has neither
        ``on_retraction`` nor an order, and ``KeyedCollectionError`` on an unkeyed collection.

        Example: each value with the one before it.

        >>> changes = Computation(
        ...     initial=0,
        ...     on_element=lambda last, seen, clocks: Transition(seen.value, emit=[(last, seen.value)]),
        ... )
        >>> results(points.process(changes, in_order=True))
        [KV(key='red', value=(0, 5)), KV(key='blue', value=(0, 7)), KV(key='red', value=(5, 3))]
        """
        checked = require_computation("computation", computation)
        require_flag("in_order", in_order)
        if late is not None and not isinstance(late, Late):
            raise ArgumentError("late", late, "Late.OBSERVE, Late.DROP, or None")
        default = Late.DROP if in_order else Late.OBSERVE
        return PCollection(Process(self.node, checked, in_order, late or default))

    def deduplicate(
        self, *, by: Callable[[A_co], object], within: timedelta, in_order: bool = False
    ) -> PCollection[A_co]:
        """Returns the first element of each id, which ``by`` returns for an element (MillWheel, section 6.1.2).

        An id is kept until the watermark is ``within`` past the element; an element with it is then a first one again.

        Example:

        >>> results(scores.deduplicate(by=lambda s: s.team, within=timedelta(hours=1)).map(lambda s: s.points))
        [5, 7]
        """
        keyed = ElementWise.after(self.node, Map(WithKey(Call(by)), "deduplicate"))
        firsts = Process(keyed, deduplication(within), in_order, Late.DROP if in_order else Late.OBSERVE)
        return PCollection(ElementWise.after(firsts, Map(Call(_value_of), "deduplicate")))

    def every(self: PCollection[KV[K, V]], n: int, *, in_order: bool = False) -> PCollection[KV[K, list[V]]]:
        """Returns a list of each ``n`` elements of a key: tuple windows, in the order in which elements arrive.

        With ``in_order`` that is the order of event time. The last list of a key, at the end of the input, is shorter.

        Example:

        >>> results(points.every(2))
        [KV(key='red', value=[5, 3]), KV(key='blue', value=[7])]
        """
        late = Late.DROP if in_order else Late.OBSERVE
        return PCollection(Process(self.node, tuples(n), in_order, late))

    def distinct(self) -> PCollection[A_co]:
        """Returns the distinct elements of each window, once for each of its panes.

        They are identified by themselves, also if they are pairs: ``final_values(by=lambda element: element)``.
        """
        counted = CombinePerKey(
            ElementWise.after(self.node, Map(WithKey(Call(_itself)), "distinct")),
            require_combiner("", Count()),
            GroupingKind.DISTINCT,
        )
        return PCollection(ElementWise.after(counted, Map(Call(_key_of), "distinct")))

    def top(self, n: int, *, by: Callable[[A_co], object] | None = None) -> PCollection[list[A_co]]:
        """Returns the ``n`` greatest elements of each window, the greatest first, compared by ``by`` or themselves."""
        return self.combine_globally(TopN(n, by))

    def with_timestamps(self, f: Callable[[A_co], datetime]) -> PCollection[A_co]:
        """Assigns the event times that ``f`` returns; an element with an event time behind the watermark is late.

        Use it before ``window``: panes of a grouping keep their window.
        """
        node = ElementWise.after(self.node, WithTimestamps(Call(f)))
        _ = node.analyses  # raises if the result has another type
        return PCollection(node)

    def with_event_time(self) -> PCollection[tuple[A_co, datetime]]:
        """Pairs each element with its event time. For a pane that is the event time of the pane.

        Example:

        >>> at = scores.with_event_time().map(lambda pair: f"{pair[0].team} at {pair[1]:%H:%M}")
        >>> results(at.distinct())
        ['blue at 12:01', 'red at 12:00', 'red at 12:03']
        """
        return PCollection(WithMetadata(self.node, Metadata.EVENT_TIME))

    def with_window(self) -> PCollection[tuple[A_co, WindowBounds]]:
        """Pairs each element with the window that it was grouped in.

        Raises ``ArgumentError`` before a grouping: a grouping puts elements into the windows of ``window(...)``.

        Example:

        >>> totals = points.window(FixedWindows(2 * MINUTE)).combine_per_key(Sum())
        >>> results(totals.with_window().map(lambda pair: (pair[0].key, f"from {pair[1].start:%H:%M}")))
        [('blue', 'from 12:00'), ('red', 'from 12:00'), ('red', 'from 12:02')]
        """
        return PCollection(WithMetadata(self.node, Metadata.WINDOW))

    def with_pane(self) -> PCollection[tuple[A_co, PaneTiming]]:
        """Pairs each element with the timing and the index of its pane; use it after a grouping.

        Raises ``ArgumentError`` before a grouping, and for panes that are retracted: a retraction is in another pane
        than the value that it retracts.

        Example:

        >>> totals = points.combine_per_key(Sum()).with_pane()
        >>> results(totals.map(lambda pair: (pair[0].key, pair[1].timing.value, pair[1].index)))
        [('blue', 'on_time', 0), ('red', 'on_time', 0)]
        """
        return PCollection(WithMetadata(self.node, Metadata.PANE))

    @overload
    def split(self: PCollection[Result[B, R]]) -> tuple[PCollection[B], PCollection[R]]: ...
    @overload
    def split(
        self,
        f: Callable[[A_co], Result[B, R]],
        *,
        result: type[B] | None = None,
        failure: type[R] | None = None,
    ) -> tuple[PCollection[B], PCollection[R]]: ...
    def split(
        self,
        f: Callable[..., Result[object, object]] | None = None,
        *,
        result: type | None = None,
        failure: type | None = None,
    ) -> tuple[PCollection[object], PCollection[object]]:
        """Returns two collections: the values that ``f`` returns as ``Success``, and those that it returns as
        ``Failure``. Without a function, the elements are such results.

        A parser is an example: ``good, bad = lines.split(parse)``. ``result`` and ``failure`` are the types of the two,
        for a function that is not annotated with ``Result[...]``. A function that runs in Python runs once for each of
        the two collections that are read.

        Example:

        >>> from returns.result import Failure, Result, Success
        >>> def parse(s: Score) -> Result[int, str]:
        ...     return Success(s.points) if s.points > 4 else Failure(s.team)
        >>> good, bad = scores.split(parse)
        >>> results(good.combine_globally(Sum())), results(bad.distinct())
        ([12], ['red'])
        """
        node = self.node if f is None else self._then(Map(Call(f, result_type(f, result, failure)), "split"))
        return PCollection(_values_of(node, Success, f, "split")), PCollection(
            _values_of(node, Failure, f, "split")
        )

    def try_map(
        self, f: Callable[[A_co], Result[B, Exception]], *, result: type[B] | None = None
    ) -> PCollection[Result[B, Failed[A_co]]]:
        """Returns the result of ``f`` for each element, where ``f`` is decorated with ``@safe`` of ``returns``.

        An exception that it catches becomes a ``Failure`` of a ``Failed``: the element, the class of the exception, and
        its message. ``split()`` returns both parts, so that the elements on which a function fails are an output as any
        other. ``result`` is the type of a success, for a function that is not annotated.

        Example:

        >>> from returns.result import safe
        >>> @safe
        ... def per_point(s: Score) -> float:
        ...     return 12 / (s.points - 5)
        >>> good, bad = scores.try_map(per_point).split()
        >>> results(good.combine_globally(Sum()))
        [0.0]
        >>> results(bad.key_by(lambda failed: failed.message).combine_per_key(Count()))
        [KV(key='division by zero', value=1)]
        """
        Call(f, result)  # rejects a value that is not callable, and a type that elements cannot have
        return PCollection(self._then(Map(Call(Tried(f, result)), "try_map")))

    def collect(self, f: Callable[[A_co], Maybe[B]], *, result: type[B] | None = None) -> PCollection[B]:
        """Returns the values that ``f`` returns as ``Some``: filters and maps at once.

        ``result`` is the type of a value, for a function that is not annotated with ``Maybe[...]``. A ``Some(None)`` is
        an ``ElementError``.

        Example:

        >>> from returns.maybe import Maybe, Nothing, Some
        >>> def high(s: Score) -> Maybe[int]:
        ...     return Some(s.points) if s.points > 4 else Nothing
        >>> results(scores.collect(high).combine_globally(Sum()))
        [12]
        """
        found = self._then(Map(Call(f, maybe_type(result)), "collect"))
        return PCollection(_values_of(found, Some, f, "collect"))

    def only(self, kind: type[B]) -> PCollection[B]:
        """Returns the elements of a class: of a sum, those of its members that are of the class.

        Raises ``ArgumentError`` for a class of which no element can be.
        """
        require_member(self.shape, kind, "kind")
        selected = PCollection[A_co](self._then(Filter(Call(IsA(kind)), "only")))
        return PCollection(selected._then(Map(Call(Narrow(kind)), "only")))

    @overload
    def partition(
        self, first: type[Out1], second: type[Out2], /
    ) -> tuple[PCollection[Out1], PCollection[Out2]]: ...
    @overload
    def partition(
        self, first: type[Out1], second: type[Out2], third: type[Out3], /
    ) -> tuple[PCollection[Out1], PCollection[Out2], PCollection[Out3]]: ...
    @overload
    def partition(
        self, first: type[Out1], second: type[Out2], third: type[Out3], fourth: type[Out4], /
    ) -> tuple[PCollection[Out1], PCollection[Out2], PCollection[Out3], PCollection[Out4]]: ...
    def partition(self, *kinds: type) -> tuple[PCollection[object], ...]:
        """Returns the elements of each of several classes, of which every element of a sum is of exactly one.

        Raises ``ArgumentError`` if the elements are of no known sum, if two of the classes have a member of it in
        common, or if a member is of none of them.

        Example:

        >>> wins, totals = flatten(scores.filter(lambda s: s.points > 4), points).partition(Score, KV)
        >>> results(wins.map(lambda s: s.team).distinct())
        ['blue', 'red']
        """
        require_partition(self.shape, kinds)
        return tuple(map(self.only, kinds))

    @overload
    def as_singleton(self) -> SideInput[A_co]: ...
    @overload
    def as_singleton(self, *, default: B) -> SideInput[A_co | B]: ...
    def as_singleton(self, *, default: object = NO_DEFAULT) -> SideInput[object]:
        """Returns this collection as a side input: the only value of each window, or ``default`` if there is none.

        A window with two values, or with none and no default, is an ``ElementError`` when an element reads it.
        Raises ``ArgumentError`` for windows that overlap, leave gaps, merge, or differ between keys.

        Example:

        >>> total = scores.combine_globally(Sum.of(lambda s: s.points)).as_singleton()
        >>> results(points.map_with(total, lambda pair, total: (pair.key, pair.value, total)).distinct())
        [('blue', 7, 15), ('red', 3, 15), ('red', 5, 15)]
        """
        return SideInput(self.node, Singleton(default))

    def as_map(self: PCollection[KV[K, V]]) -> SideInput[Mapping[K, V]]:
        """Returns this collection as a side input: the mapping from keys to values of each window.

        Raises ``KeyedCollectionError`` on an unkeyed collection, and ``ArgumentError`` as ``as_singleton`` does.
        """
        require_groupable(self.node.shape, "as_map")
        return SideInput(self.node, AsMap())

    def with_side(self, side: SideInput[B]) -> PCollection[tuple[A_co, B]]:
        """Pairs each element with the result of its window of a side input (Dataflow Model, section 2.1).

        That is the side's window that contains the element's event time. The element waits until that window is
        complete, and holds the watermark of what follows back; what it reads never changes afterwards. Elements of
        the side that come after that are dropped as closed. To have results corrected by them, join instead.

        Example:

        >>> totals = points.combine_per_key(Sum()).as_map()
        >>> results(scores.with_side(totals).map(lambda pair: (pair[0].points, pair[1][pair[0].team])).distinct())
        [(3, 8), (5, 8), (7, 7)]
        """
        if not isinstance(side, SideInput):
            raise ArgumentError("side", side, "a side input, as as_singleton() and as_map() give")
        return PCollection(WithSide(self.node, side.node, side.view))

    def map_with(
        self, side: SideInput[V], f: Callable[[A_co, V], B], *, result: type[B] | None = None
    ) -> PCollection[B]:
        """Returns ``f`` of each element and its side input; see ``with_side``."""
        return PCollection(self.with_side(side)._then(Map(Spread(Call(f, result)), "map_with")))

    def flat_map_with(
        self, side: SideInput[V], f: Callable[[A_co, V], Iterable[B]], *, result: type[B] | None = None
    ) -> PCollection[B]:
        """Returns the items that ``f`` returns for each element and its side input; see ``with_side``."""
        call = Call(f, _list_of(result))
        return PCollection(self.with_side(side)._then(FlatMap(Spread(call), "flat_map_with")))

    def filter_with(self, side: SideInput[V], predicate: Callable[[A_co, V], bool]) -> PCollection[A_co]:
        """Returns the elements for which ``predicate`` returns ``True``, given their side input; see ``with_side``."""
        kept = self.with_side(side)._then(Filter(Spread(Call(predicate)), "filter_with"))
        return PCollection(ElementWise.after(kept, Map(Call(_first), "filter_with")))

    def apply(self, transform: Callable[[PCollection[A_co]], B], *, label: str | None = None) -> B:
        """Applies a transform: a ``PTransform``, or any function from this collection.

        ``label`` names the steps of a function, which is shown as one box then: it must return a collection, or a
        tuple of collections. A ``PTransform`` has its own name. Without a label, ``collection >> transform`` is the
        same. Law: ``c.apply(f >> g) == c.apply(f).apply(g)``.

        Example:

        >>> def by_team(scores: PCollection[Score]) -> PCollection[KV[str, int]]:
        ...     return scores.key_by(lambda s: s.team).combine_per_key(Sum.of(lambda s: s.points))
        >>> results(scores.apply(by_team))
        [KV(key='blue', value=7), KV(key='red', value=8)]
        """
        if not callable(transform):
            raise ArgumentError("transform", transform, "a PTransform, or a function from a PCollection")
        return transform(self) if label is None else self._labelled(transform, label)

    def __rshift__(self, transform: Callable[[PCollection[A_co]], B]) -> B:
        return self.apply(transform) if callable(transform) else NotImplemented

    def _labelled(self, transform: Callable[[PCollection[A_co]], B], label: str) -> B:
        """Returns the result of a function; the steps that it adds have the scope ``label``."""
        require_text("label", label)
        hole = Hole(self.node.shape, context=self.node)
        made = transform(PCollection(hole))
        nodes: list[Node] = []
        for collection in leaves(made):
            if not isinstance(collection, PCollection):
                raise ArgumentError(f"the result of {label!r}", made, "a PCollection, or a tuple of them")
            nodes.append(collection.node)
        return cast("B", nested_like(made, map(PCollection, fill([hole], [self.node], nodes, label))))

    def _join(self, right: PCollection[object], kind: JoinKind) -> ElementWise:
        """Returns the pairs of a join: a co-group with one list of pairs, and its items.

        A key with a ``None`` in it matches nothing: its values take no part, except where unmatched ones are kept.
        """
        _require_all_keyed(kind.value, (self, right))
        sides, flat_map = (self.node, right.node), FlatMap(Call(each_pair), kind.value)
        if not any(map(may_have_none, map(_key_shape, sides))):
            return ElementWise.after(CoGroupByKey(sides, kind), flat_map)
        keys = [key.of if isinstance(key, Nullable) else key for key in map(_key_shape, sides)]
        is_plain = not any(map(may_have_none, keys))
        matching = Filter(Call(has_key if is_plain else can_match), kind.value)
        if kind.keeps_right:
            # Both sides keep these values, in the windows and panes of their key.
            apart = CoGroupByKey(sides, kind, apart=True)
            return ElementWise.after(apart, FlatMap(step_apart(kind, None), kind.value))
        left = sides[0] if kind.keeps_left else ElementWise.after(sides[0], matching)
        return ElementWise.after(CoGroupByKey((left, ElementWise.after(sides[1], matching)), kind), flat_map)

    def _then(self, step: Step) -> ElementWise:
        return ElementWise.after(self.node, step)

    def _keywise(self, step: Step) -> ElementWise:
        shape = self.node.shape
        if shape is not None:
            require_keyed(shape, step.label)
        return self._then(step)

    @property
    def shape(self) -> Shape | None:
        """The shape of the elements; ``None`` if only running the user functions would determine it."""
        return self.node.shape


@overload
def flatten(
    first: PCollection[KV[K, Out1]], second: PCollection[KV[K, Out2]], /
) -> PCollection[KV[K, Out1 | Out2]]: ...
@overload
def flatten(
    first: PCollection[KV[K, Out1]], second: PCollection[KV[K, Out2]], third: PCollection[KV[K, Out3]], /
) -> PCollection[KV[K, Out1 | Out2 | Out3]]: ...
@overload
def flatten(first: PCollection[Out1], second: PCollection[Out2], /) -> PCollection[Out1 | Out2]: ...
@overload
def flatten(
    first: PCollection[Out1], second: PCollection[Out2], third: PCollection[Out3], /
) -> PCollection[Out1 | Out2 | Out3]: ...
@overload
def flatten(*collections: PCollection[A]) -> PCollection[A]: ...
def flatten(*collections: PCollection[object]) -> PCollection[object]:
    """Returns the union of several collections, as bags of elements.

    Collections of several types are a collection of the sum of these types, such as ``Model | Count``. All must be in
    the same windows. The watermark is the least of theirs. Law: associative and commutative.

    Example:

    >>> results(flatten(points, points).combine_per_key(Sum()))
    [KV(key='blue', value=14), KV(key='red', value=16)]
    """
    if not collections:
        raise ArgumentError("collections", collections, "one or more collections")
    for number, one in enumerate(collections, start=1):
        if not isinstance(one, PCollection):
            raise ArgumentError(f"collection {number}", one, "a PCollection")
    return PCollection(Flatten(tuple(one.node for one in collections)))


def _values_of(node: Node, cls: ContainerClass, f: Callable[..., object] | None, name: str) -> ElementWise:
    """Returns the values of the containers of a class; ``f`` is the function that has made them."""
    return ElementWise.after(
        node, Filter(Call(Is(cls, name, f)), name), Map(Call(ValueOf(cls, name, f)), name)
    )


def _key_shape(node: Node) -> Shape | None:
    shape = node.shape
    return shape.fields[0].shape if isinstance(shape, RecordOf) else None


def _require_all_keyed(transform: str, collections: Iterable[object]) -> None:
    """Raises unless all are collections of ``KV`` pairs whose keys have the same type, if the types are known."""
    keys: dict[Shape, int] = {}
    for number, one in enumerate(collections, start=1):
        if not isinstance(one, PCollection):
            raise ArgumentError(f"collection {number} of {transform}", one, "a keyed PCollection")
        shape = one.shape
        require_groupable(shape, transform)
        if isinstance(shape, RecordOf):
            keys.setdefault(shape.fields[0].shape, number)
    if len(keys) > 1:
        (first, one_number), (other, number), *_ = keys.items()
        raise KeyedCollectionError(
            f"{transform} needs keys of one type: those of collection {one_number} are {first}, "
            f"and those of collection {number} are {other}"
        )


def _require_same_elements(transform: str, left: PCollection[object], right: object) -> None:
    """Raises ``ArgumentError`` unless both are collections of elements of one type, if the types are known."""
    if not isinstance(right, PCollection):
        raise ArgumentError(f"collection 2 of {transform}", right, "a PCollection")
    shapes = left.shape, right.shape
    if None not in shapes and shapes[0] != shapes[1]:
        valid = f"{shapes[0]}, as those of collection 1 are"
        raise ArgumentError(f"the elements of collection 2 of {transform}", str(shapes[1]), valid)


def _list_of(item: type | None) -> ElementType:
    """Returns the type of a list of items of a type, if it is given."""
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
