"""Computations over several named inputs, each with a function of its own (MillWheel, section 3.1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, Union

from attrs import frozen

from flowalg.computations.computation import Computation, Late, transition_types
from flowalg.computations.transition import Clocks, Observed, Timer, Transition
from flowalg.data.errors import ArgumentError, require_name
from flowalg.data.kv import KV
from flowalg.data.shapes import TEXT, Field, RecordOf
from flowalg.lifting.tree.expressions import Build, Constant, Expr
from flowalg.pipeline.pcollection import PCollection, flatten

K = TypeVar("K")
V = TypeVar("V")
V_co = TypeVar("V_co", covariant=True)
S = TypeVar("S")
Out = TypeVar("Out")
Out2 = TypeVar("Out2")


@frozen
class FromInput(Generic[V_co]):
    """A value of one of several inputs, with the name of the input."""

    name: str
    value: V_co


@frozen
class _Named:
    """The function that gives a value the name of its input, whose elements ``wrapped`` observes."""

    name: str
    wrapped: Callable[..., object]

    def __call__(self, value: V) -> FromInput[V]:
        """Returns the value with the name."""
        return FromInput(self.name, value)

    def expression_of(self, value: Expr) -> Expr | None:
        """Returns the record of both."""
        if value.shape is None:
            return None
        shape = RecordOf(FromInput, (Field("name", TEXT), Field("value", value.shape)))
        return Build(shape, (Constant(self.name, TEXT), value))


@frozen
class _Dispatch:
    """The function of a computation over several inputs: that of the input that an element is from."""

    names: tuple[str, ...]
    functions: tuple[Callable[..., Transition[Any, Any]], ...]

    @property
    def wrapped(self) -> Callable[..., object]:
        """The function that messages name: that of the first input."""
        return self.functions[0]

    def __call__(
        self, state: object, observed: Observed[Any, FromInput[object]], clocks: Clocks
    ) -> Transition[Any, Any]:
        """Returns the transition of the input's function."""
        f = self.functions[self.names.index(observed.value.name)]
        return f(
            state, Observed(observed.key, observed.value.value, observed.event_time, observed.late), clocks
        )


@frozen
class _Input:
    name: str
    collection: PCollection[KV[Any, Any]]
    on_element: Callable[..., Transition[Any, Any]]
    on_retraction: Callable[..., Transition[Any, Any]] | None

    def __attrs_post_init__(self) -> None:
        require_name("name", self.name)
        if not isinstance(self.collection, PCollection):
            raise ArgumentError(f"the collection of {self.name}", self.collection, "a PCollection of pairs")
        if not callable(self.on_element):
            raise ArgumentError(f"on_element of {self.name}", self.on_element, "a function")


@frozen
class Inputs(Generic[K, S, Out]):
    """The inputs so far of a computation, and what becomes of an element of each."""

    initial: S
    _inputs: tuple[_Input, ...]

    def on(
        self,
        name: str,
        collection: PCollection[KV[K, V]],
        on_element: Callable[[S, Observed[K, V], Clocks], Transition[S, Out2]],
        *,
        on_retraction: Callable[[S, Observed[K, V], Clocks], Transition[S, Out2]] | None = None,
    ) -> Inputs[K, S, Out | Out2]:
        """Adds an input: its name, its pairs, and the functions of its elements and its retractions.

        Raises ``ArgumentError`` if another input has the name, or the collection or a function is none.
        """
        added = _Input(name, collection, on_element, on_retraction)
        if any(other.name == name for other in self._inputs):
            raise ArgumentError("name", name, "a name that no other input has")
        return Inputs(self.initial, (*self._inputs, added))

    def process(
        self,
        *,
        on_timer: Callable[[S, Timer, Clocks], Transition[S, Out]] | None = None,
        in_order: bool = False,
        late: Late | None = None,
        commutative: bool = False,
        name: str | None = None,
        result: type[Out] | None = None,
    ) -> PCollection[KV[K, Out]]:
        """Runs the computation over all inputs, as ``process`` of their union does; outputs keep the key.

        The arguments are those of ``Computation`` and of ``PCollection.process``, with their errors.
        """
        functions = [each.on_element for each in self._inputs]
        known = [hint for f in functions if (hint := transition_types(f)) is not None]
        if result is None and len(known) == len(functions):
            known += [
                hint for f in (on_timer,) if f is not None and (hint := transition_types(f)) is not None
            ]
            result = Union[tuple(output for _, output in known)]  # type: ignore[assignment]  # a union of types  # noqa: UP007
        names = tuple(each.name for each in self._inputs)
        retractions = [each.on_retraction for each in self._inputs]
        reversed_by = tuple(f for f in retractions if f is not None)
        if 0 < len(reversed_by) < len(retractions):
            lacking = names[retractions.index(None)]
            raise ArgumentError(
                f"on_retraction of {lacking}", None, "a function, since another input has one"
            )
        computation: Computation[K, FromInput[object], S, Out] = Computation(
            initial=self.initial,
            on_element=_Dispatch(names, tuple(functions)),
            on_timer=on_timer,
            on_retraction=_Dispatch(names, reversed_by) if reversed_by else None,
            commutative=commutative,
            name=name or " and ".join(names),
            result=result,
        )
        named = [each.collection.map_values(_Named(each.name, each.on_element)) for each in self._inputs]
        return flatten(*named).process(computation, in_order=in_order, late=late)


@frozen
class NoInputs(Generic[S]):
    """The initial state of a computation that has no inputs yet."""

    initial: S

    def on(
        self,
        name: str,
        collection: PCollection[KV[K, V]],
        on_element: Callable[[S, Observed[K, V], Clocks], Transition[S, Out]],
        *,
        on_retraction: Callable[[S, Observed[K, V], Clocks], Transition[S, Out]] | None = None,
    ) -> Inputs[K, S, Out]:
        """Adds the first input, as ``Inputs.on`` adds another."""
        return Inputs(self.initial, (_Input(name, collection, on_element, on_retraction),))


def process_inputs(initial: S) -> NoInputs[S]:
    """Begins a computation over several named inputs with one state, which is ``initial`` before the first element.

    Each input has a function of its own, ``on_element`` of ``Computation``, so that inputs of one type have different
    meanings. The computation is that over the union of all inputs (``flatten``), whose elements are in one order: that
    of their event times with ``in_order``, and otherwise that of arrival.

    Example: each value, less what is to be taken from it.

    >>> from flowalg.transforms import process_inputs
    >>> lowered = (
    ...     process_inputs(initial=0)
    ...     .on("less", points.filter(lambda p: p.value < 4), lambda n, seen, clocks: Transition(n + seen.value))
    ...     .on("points", points, lambda n, seen, clocks: Transition(n, emit=[seen.value - n]))
    ...     .process(in_order=True, result=int)
    ... )
    >>> results(lowered)
    [KV(key='red', value=5), KV(key='blue', value=7), KV(key='red', value=0)]
    """
    return NoInputs(initial)
