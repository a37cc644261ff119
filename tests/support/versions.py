"""Versions of a program: record classes that change in place, and the pipelines whose state has their values.

A version is *installed* as the class ``Item`` of the module ``deployed``, as a deployed program has one version of its
classes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from enum import Enum
from typing import Annotated, Any, Final, TypeAlias

import attrs
from attrs import evolve, frozen

from flowalg import (
    FOREVER,
    Accumulation,
    AtWatermark,
    Computation,
    Count,
    FixedWindows,
    PCollection,
    ToList,
    TopN,
    combiner,
)
from flowalg.combiners import ToSet
from flowalg.computations import Clocks, EventTimer, Observed, Timer, Transition
from flowalg.data import class_marks
from flowalg.evolution import RenamedFrom, evolves
from flowalg.windows import AllowedLateness
from tests.support import deployed
from tests.support.scores import SCORES, Score

MINUTE: Final = timedelta(minutes=1)

AnyItem: TypeAlias = Any
"""A class of items, or a value of one, or what has no other common type."""

Items: TypeAlias = PCollection[Any]


class _Missing:
    """No default."""


NOTHING: Final = _Missing()


@frozen
class Field:
    """A field of a version: its name and type, its value for a number, its default, and its earlier name."""

    name: str
    type: Any
    value: Callable[[int], Any]
    default: Any = NOTHING
    earlier: str | None = None

    def __repr__(self) -> str:
        default = "" if self.default is NOTHING else f" = {self.default!r}"
        return f"{self.name}: {self.type}{default}{f', was {self.earlier}' if self.earlier else ''}"


def record_class(name: str, fields: Sequence[Field]) -> type[Any]:
    """Returns a record class with some fields, under a name of the module of deployed classes."""
    space: dict[str, Any] = {"__module__": deployed.__name__, "__qualname__": name}
    space["__annotations__"] = {
        field.name: field.type if field.earlier is None else Annotated[field.type, RenamedFrom(field.earlier)]
        for field in fields
    }
    space |= {
        field.name: attrs.field(default=field.default) for field in fields if field.default is not NOTHING
    }
    cls: type[Any] = attrs.frozen(type(name, (), space))
    return cls


def is_enum(kind: object) -> bool:
    """Returns whether a type of fields is an enum."""
    return isinstance(kind, type) and issubclass(kind, Enum)


@frozen
class Version:
    """A version of the class ``Item``, under a name.

    With ``converts``, the fields of the version before, it declares how items of that become items of this version.
    """

    fields: tuple[Field, ...]
    name: str = "Item"
    renamed_from: str | None = None
    converts: tuple[Field, ...] | None = None

    @property
    def ordered(self) -> tuple[Field, ...]:
        """The fields in the order of the class: those with a default are the last ones."""
        return tuple(sorted(self.fields, key=lambda field: field.default is not NOTHING))

    @contextmanager
    def installed(self) -> Iterator[type[Any]]:
        """Makes this the version of the program."""
        item = record_class(self.name, self.ordered)
        if self.renamed_from is not None:
            RenamedFrom(f"{deployed.__name__}:{self.renamed_from}")(item)
        enum = next((field.type for field in self.fields if is_enum(field.type)), None)
        if self.converts is not None:
            # The class of earlier items has the enum of this version.
            old_enum = next((field.type for field in self.converts if is_enum(field.type)), None)
            enum = enum or old_enum
            converts = [
                attrs.evolve(field, type=enum) if is_enum(field.type) else field for field in self.converts
            ]
            old = record_class(f"{self.name}Before", converts)
            setattr(deployed, f"{self.name}Before", old)
            evolves(old, item, lambda value: item(**self._converted(value)))
        setattr(deployed, self.name, item)
        if enum is not None:
            setattr(deployed, enum.__name__, enum)
        try:
            yield item
        finally:
            delattr(deployed, self.name)
            if enum is not None:
                delattr(deployed, enum.__name__)
            class_marks._EARLIER.clear()

    def _converted(self, old: AnyItem) -> dict[str, Any]:
        """Returns the fields of an item of the version before: each has its number."""
        return {field.name: field.value(old.number) for field in self.fields}

    def items(self, item: type[Any]) -> Items:
        """Returns a collection of items of this version, one for each score."""

        def make(score: Score) -> AnyItem:
            return self.item(item, score.points)

        return SCORES.map(make, result=item)

    def item(self, item: type[Any], number: int) -> AnyItem:
        """Returns the item of a number."""
        return item(**{field.name: field.value(number) for field in self.fields})

    def pipeline(self, item: type[Any], place: str, settings: Settings) -> PCollection[Any]:
        """Returns a pipeline whose state has items of this version in a place."""
        first = attrs.evolve(settings, initial=lambda cls: self.item(cls, 0))
        return PLACES[place](item, self.items(item), first)


@frozen
class Settings:
    """What a pipeline is built of besides the class of its items."""

    accumulation: Accumulation
    trigger: AnyItem
    lateness: AllowedLateness
    windows: AnyItem
    combiners: tuple[AnyItem, ...]
    initial: Callable[[AnyItem], AnyItem] = lambda item: item

    def windowed(self, collection: Items) -> Items:
        """Returns a collection in windows."""
        return collection.window(
            self.windows,
            trigger=self.trigger,
            accumulation=self.accumulation,
            allowed_lateness=self.lateness,
        )


def _team(element: AnyItem) -> str:
    return f"t{element.number % 2}"


def _number(element: AnyItem) -> int:
    return int(element.number)


def by_team(items: Items, settings: Settings) -> Items:
    """Returns items by a team, in windows."""
    return settings.windowed(items.key_by(_team, result=str))


def keep_last(item: AnyItem, initial: AnyItem) -> Computation[str, Any, Any, Any]:
    """Returns a computation whose state is an item."""

    def on_element(state: AnyItem, observed: Observed[str, AnyItem], clocks: Clocks) -> AnyItem:
        return Transition(
            observed.value, emit=(repr(state),), set=(EventTimer("t", observed.event_time + MINUTE),)
        )

    def on_timer(state: AnyItem, timer: Timer, clocks: Clocks) -> AnyItem:
        return Transition(state, emit=(repr(state),))

    on_element.__annotations__["return"] = Transition[item, str]
    return Computation(
        initial=initial, on_element=on_element, on_timer=on_timer, result=str, name="keep the last"
    )


def gathered(item: AnyItem) -> AnyItem:
    """Returns a combiner in Python whose accumulators are tuples of items."""

    def add(accumulator: tuple[Any, ...], value: AnyItem) -> tuple[Any, ...]:
        return (*accumulator, value)

    def merge(left: tuple[Any, ...], right: tuple[Any, ...]) -> tuple[Any, ...]:
        return left + right

    def extract(accumulator: tuple[Any, ...]) -> list[Any]:
        # Not by all fields: what the function returned before a change has their earlier order.
        return sorted(accumulator, key=lambda element: element.number)

    extract.__annotations__["return"] = list[item]
    return combiner(zero=(), add=add, merge=merge, extract=extract, name="gathered")


def first_of(item: AnyItem) -> AnyItem:
    """Returns a function of lists of items that returns the last one."""

    def first(values: list[Any]) -> AnyItem:
        return values[-1]

    return first


def _settings_of_side(settings: Settings) -> Settings:
    return evolve(
        settings,
        windows=FixedWindows(MINUTE),
        trigger=AtWatermark(),
        accumulation=Accumulation.RETRACTING,
        lateness=FOREVER,
    )


def _nested(item: AnyItem) -> AnyItem:
    return tuple[item, list[item]]


def count_items(state: int, observed: Observed[str, Any], clocks: Clocks) -> Transition[int, str]:
    """Counts the elements of a key, and shows them."""
    return Transition(state + 1, emit=(f"{state} {observed.value!r}",))


def _joined(items: Items, settings: Settings) -> PCollection[Any]:
    return (
        items.inner_join(items)
        if settings.accumulation is Accumulation.DISCARDING
        else items.full_join(items)
    )


PLACES: Final[dict[str, Callable[[AnyItem, Items, Settings], PCollection[Any]]]] = {
    "lists": lambda item, items, settings: by_team(items, settings).group_by_key(),
    "sets": lambda item, items, settings: by_team(items, settings).combine_per_key(ToSet()),
    "keys": lambda item, items, settings: settings.windowed(
        items.key_by(lambda element: element, result=item)
    ).combine_per_key(Count()),
    "bags": lambda item, items, settings: (
        by_team(items, settings)
        .group_by_key()
        .map_values(first_of(item), result=item)
        .combine_per_key(ToList())
    ),
    "the greatest": lambda item, items, settings: by_team(items, settings).combine_per_key(
        TopN(2, by=lambda element: element.number)
    ),
    "a join": lambda item, items, settings: _joined(by_team(items, settings), settings),
    "a semi join": lambda item, items, settings: by_team(items, settings).semi_join(by_team(items, settings)),
    "nested types": lambda item, items, settings: (
        by_team(items, settings)
        .map_values(lambda element: (element, [element]), result=_nested(item))
        .group_by_key()
    ),
    "states": lambda item, items, settings: by_team(items, settings).process(
        keep_last(item, settings.initial(item))
    ),
    "elements that wait": lambda item, items, settings: by_team(items, settings).process(
        Computation(initial=0, on_element=count_items, name="count"), in_order=True
    ),
    "tuples": lambda item, items, settings: by_team(items, settings).every(3),
    "accumulators": lambda item, items, settings: by_team(items, settings).combine_per_key(gathered(item)),
    "a side input": lambda item, items, settings: SCORES.with_side(
        by_team(items, _settings_of_side(settings))
        .combine_per_key(TopN(1, by=lambda element: element.number))
        .as_map()
    ).map(repr, result=str),
    "elements that read a side input": lambda item, items, settings: items.with_side(
        SCORES.window(FixedWindows(MINUTE), allowed_lateness=FOREVER)
        .combine_globally(Count())
        .as_singleton(default=0)
    ).map(repr, result=str),
    "combiners": lambda item, items, settings: (
        by_team(items, settings).map_values(_number, result=int).combine_per_key(*settings.combiners)
    ),
}
"""Pipelines whose state has items, by what it has."""
