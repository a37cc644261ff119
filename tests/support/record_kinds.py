"""One record class in each library: attrs, dataclasses, typing, pydantic and msgspec."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from datetime import datetime
from typing import Annotated, Any, Final, Generic, Literal, NamedTuple, NewType, Protocol, TypeVar

import attrs
import msgspec
import pydantic
from attrs import frozen

T = TypeVar("T")

Meter = NewType("Meter", str)
Unit = Literal["kWh", "MWh"]


class Reading(Protocol):
    """What the record classes have in common."""

    @property
    def meter(self) -> Meter:
        """The name of the meter."""
        ...

    @property
    def at(self) -> datetime:
        """When it was read."""
        ...

    @property
    def value(self) -> int:
        """What it showed."""
        ...

    @property
    def unit(self) -> Unit:
        """The unit of the value."""
        ...

    @property
    def place(self) -> AnyPlace | None:
        """Where it is."""
        ...

    @property
    def tags(self) -> list[str]:
        """Words about it."""
        ...


@frozen
class AttrsPlace:
    """Where a meter is."""

    street: str
    floor: int = 0


@frozen
class AttrsReading:
    """A record of attrs."""

    meter: Meter
    at: datetime
    value: Annotated[int, "in its unit"]
    unit: Unit = "kWh"
    place: AttrsPlace | None = None
    tags: list[str] = attrs.field(factory=list)


@dataclass(frozen=True)
class DataclassPlace:
    """Where a meter is."""

    street: str
    floor: int = 0


@dataclass(frozen=True)
class DataclassReading:
    """A record of dataclasses, whose objects have a ``__dict__``."""

    meter: Meter
    at: datetime
    value: Annotated[int, "in its unit"]
    unit: Unit = "kWh"
    place: DataclassPlace | None = None
    tags: list[str] = dataclass_field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class SlottedReading:
    """A record of dataclasses, with slots, whose arguments are named."""

    meter: Meter
    at: datetime
    value: Annotated[int, "in its unit"]
    unit: Unit = "kWh"
    place: DataclassPlace | None = None
    tags: list[str] = dataclass_field(default_factory=list)


class TuplePlace(NamedTuple):
    """Where a meter is."""

    street: str
    floor: int = 0


class TupleReading(NamedTuple):
    """A named tuple."""

    meter: Meter
    at: datetime
    value: Annotated[int, "in its unit"]
    unit: Unit = "kWh"
    place: TuplePlace | None = None
    tags: list[str] = []  # noqa: RUF012  # of a tuple, whose items nothing changes


class PydanticPlace(pydantic.BaseModel):
    """Where a meter is."""

    model_config = pydantic.ConfigDict(frozen=True)

    street: str
    floor: int = 0


class PydanticReading(pydantic.BaseModel):
    """A model of pydantic, with an alias and a constraint."""

    model_config = pydantic.ConfigDict(frozen=True)

    meter: Meter
    at: datetime
    value: int = pydantic.Field(ge=-1_000, alias="shown")
    unit: Unit = "kWh"
    place: PydanticPlace | None = None
    tags: list[str] = pydantic.Field(default_factory=list)


class StructPlace(msgspec.Struct, frozen=True):
    """Where a meter is."""

    street: str
    floor: int = 0


class StructReading(msgspec.Struct, frozen=True):
    """A struct of msgspec."""

    meter: Meter
    at: datetime
    value: Annotated[int, msgspec.Meta(ge=-1_000)]
    unit: Unit = "kWh"
    place: StructPlace | None = None
    tags: list[str] = msgspec.field(default_factory=list)


AnyPlace = AttrsPlace | DataclassPlace | TuplePlace | PydanticPlace | StructPlace


@dataclass(frozen=True)
class Pair(Generic[T]):
    """A generic record of dataclasses."""

    first: T
    second: T


KINDS: Final[Mapping[str, tuple[Callable[..., Any], Callable[..., Any]]]] = {
    "attrs": (AttrsReading, AttrsPlace),
    "dataclasses": (DataclassReading, DataclassPlace),
    "dataclasses with slots": (SlottedReading, DataclassPlace),
    "NamedTuple": (TupleReading, TuplePlace),
    "pydantic": (PydanticReading, PydanticPlace),
    "msgspec": (StructReading, StructPlace),
}
"""The classes of readings and places by library."""
