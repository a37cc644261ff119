"""Computations as values: the functions that move the state of a key on (MillWheel, section 4)."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, unique
from functools import cached_property
from typing import Any, Generic, TypeAlias, TypeVar, get_args, get_type_hints

from attrs import field, frozen

from flowalg.computations.transition import Clocks, Observed, Timer, Transition
from flowalg.data.errors import ArgumentError, RecordTypeError, describe_function, require_flag, require_name
from flowalg.data.shapes import Shape, shape_of
from flowalg.data.views import HasView

K = TypeVar("K")
V = TypeVar("V")
S = TypeVar("S")
Out = TypeVar("Out")
K_contra = TypeVar("K_contra", contravariant=True)
V_contra = TypeVar("V_contra", contravariant=True)
Out_co = TypeVar("Out_co", covariant=True)


@unique
class Late(Enum):
    """What a computation does with elements behind the watermark."""

    OBSERVE = "observe"
    """It observes them; they are marked as late."""

    DROP = "drop"
    """They are dropped, and counted."""


def _describe(f: object) -> str:
    """Returns a function by its name and place, which do not differ between runs as its address does."""
    return describe_function(f) if callable(f) else repr(f)


class Processor(HasView, Generic[K_contra, V_contra, Out_co]):
    """What ``process`` accepts: a ``Computation`` whose type of state is hidden, as that of a combiner is."""

    __slots__ = ()


@frozen(kw_only=True)
class Computation(Processor[K, V, Out], Generic[K, V, S, Out]):
    """User code per key, over persistent state and timers: a pure function from a state and an event to a transition.

    ``initial`` is the state of a key before its first element, and after the key was freed; it must not be ``None``.
    ``on_element(state, observed, clocks)`` is called for each element, ``on_timer(state, timer, clocks)`` for each
    timer that fires, and ``on_retraction(state, observed, clocks)`` for each retraction. All return a ``Transition``.
    States are never modified in place, and are data (``flowalg.data.stored``).

    ``commutative`` declares that the order of the elements of an instant has no effect; ``flowalg_laws`` tests this
    with all other properties (``check_computation``). ``pickled_state`` lets states be any objects that can be pickled:
    who may write to the checkpoint may then run code, so prefer ``flowalg.data.stored`` on their class. ``name`` is the
    name in labels. ``result`` is the type of an output, which Spark needs if ``on_element`` is a lambda; a ``def`` can
    be annotated instead.

    Both type checkers infer the types of lambdas from the collection and from ``initial``. Raises ``ArgumentError`` for
    a part that is not what it should be.

    Example: an alert when a key is silent for a minute.

    >>> silence = Computation(
    ...     initial=0,
    ...     on_element=lambda last, seen, clocks: Transition(
    ...         seen.value, set=[EventTimer("silence", seen.event_time + MINUTE)]
    ...     ),
    ...     on_timer=lambda last, timer, clocks: Transition(None, emit=[f"silent since {last}"]),
    ... )
    >>> for pair in results(points.process(silence)):
    ...     print(pair.key, pair.value)
    red silent since 5
    blue silent since 7
    red silent since 3
    """

    initial: S
    on_element: Callable[[S, Observed[K, V], Clocks], Transition[S, Out]] = field(repr=_describe)
    on_timer: Callable[[S, Timer, Clocks], Transition[S, Out]] | None = field(default=None, repr=_describe)
    on_retraction: Callable[[S, Observed[K, V], Clocks], Transition[S, Out]] | None = field(
        default=None, repr=_describe
    )
    commutative: bool = False
    pickled_state: bool = field(default=False, repr=False)
    name: str | None = None
    result: type[Out] | None = field(default=None)

    def __attrs_post_init__(self) -> None:
        if self.initial is None or isinstance(self.initial, list | dict | set | bytearray):
            valid = "a state, immutable and not None, such as a number, a tuple or a frozen record"
            raise ArgumentError("Computation.initial", self.initial, valid)
        if not callable(self.on_element):
            raise ArgumentError("Computation.on_element", self.on_element, "a function")
        for name, f in (("on_timer", self.on_timer), ("on_retraction", self.on_retraction)):
            if f is not None and not callable(f):
                raise ArgumentError(f"Computation.{name}", f, "a function, or None")
        require_flag("Computation.commutative", self.commutative)
        require_flag("Computation.pickled_state", self.pickled_state)
        if self.name is not None:
            require_name("Computation.name", self.name)
        _ = self.output_shape  # raises if the result type is not an element type

    @property
    def title(self) -> str:
        """The name of the computation in labels and messages."""
        return self.name or describe_function(self.on_element)

    @cached_property
    def output_shape(self) -> Shape | None:
        """The shape of the outputs, if it is declared or annotated."""
        if self.result is not None:
            return shape_of(self.result, where=f"the result of {self.title}")
        return self._annotated(1)

    @cached_property
    def state_shape(self) -> Shape | None:
        """The shape that states are expected to have: as annotated, otherwise that of ``initial``, if it has one.

        Nothing holds a function to it, so a state may be of another type.
        """
        annotated = self._annotated(0)
        return _shape_or_none(type(self.initial)) if annotated is None else annotated

    def _annotated(self, number: int) -> Shape | None:
        """Returns the shape of an argument of the ``Transition`` that a function is annotated to return."""
        functions = (f for f in (self.on_element, self.on_timer, self.on_retraction) if f is not None)
        hints = (transition_types(f) for f in functions)
        shapes = (_shape_or_none(hint[number]) for hint in hints if hint is not None)
        return next((shape for shape in shapes if shape is not None), None)


AnyComputation: TypeAlias = Computation[Any, Any, Any, Any]
"""A computation, for code that does not know its types."""


def require_computation(argument: str, value: object) -> AnyComputation:
    """Returns the value as a computation; raises ``ArgumentError`` if it is not one."""
    if isinstance(value, Computation):
        return value
    raise ArgumentError(argument, value, "a Computation, such as Computation(initial=0, on_element=...)")


def transition_types(f: Callable[..., object]) -> tuple[object, object] | None:
    """Returns the types of state and output of a function that is annotated to return a ``Transition``."""
    try:
        hint = get_type_hints(f if hasattr(f, "__code__") else type(f).__call__).get("return")
        state, output = get_args(hint)
    except (AttributeError, NameError, TypeError, ValueError):
        return None
    return state, output


def _shape_or_none(kind: object) -> Shape | None:
    """Returns the shape of a type; ``None`` if it has none."""
    try:
        return shape_of(kind)
    except (TypeError, RecordTypeError):
        return None
