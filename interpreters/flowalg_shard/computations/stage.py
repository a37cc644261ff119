"""A compiled computation: its functions, and the columns of its keys, values, states and outputs."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Final, Protocol, TypeAlias

import polars as pl
from attrs import frozen

from flowalg.computations.calls import Calls
from flowalg.computations.computation import AnyComputation, Late
from flowalg.computations.library import state_shape
from flowalg.data.errors import UnsupportedError
from flowalg.data.shapes import RecordOf, Shape
from flowalg.pipeline.nodes import Process
from flowalg_shard.computations.columns import TransitionColumns

ONLY_KEY: Final = "__only_key"
"""A constant column that stands for a key without columns."""


class Codec(Protocol):
    """Converts values of a shape to the columns of a table, and back."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        ...

    @property
    def order(self) -> tuple[pl.Expr, ...] | None:
        """Columns that order rows as their values are ordered (``sort_key``); ``None`` if there are none."""
        ...

    @property
    def nested(self) -> pl.Expr:
        """The values as one column, with structs for records and tuples."""
        ...

    def read(self, table: pl.DataFrame) -> list[object]:
        """Returns the values in a table."""
        ...

    def write(self, values: list[object], where: str) -> list[pl.Series]:
        """Returns the columns of values; an ``ElementError`` begins with ``where``."""
        ...

    def is_exact(self, values: list[object]) -> bool:
        """Returns whether all values surely equal those that are read from their columns, in type too."""
        ...


CodecOf: TypeAlias = Callable[[Shape, str], Codec]
"""Returns the codec of a shape; the names of its columns begin with a text."""


def output_shape(node: Process) -> RecordOf:
    """Returns the shape of the outputs of a computation; raises ``UnsupportedError`` if their type is unknown."""
    if not isinstance(node.shape, RecordOf):
        raise UnsupportedError(
            f"{node.label}: the type of its outputs is unknown; pass Computation(..., result=...), or annotate the "
            "result of on_element, as Transition[int, str]"
        )
    return node.shape


@frozen
class ComputationStage:
    """A compiled computation.

    ``key`` and ``value`` are those of its elements, and ``output`` is the value of its outputs. ``state`` is ``None``
    if the shape of states is unknown, and ``in_columns`` if the function of elements is not lifted.
    """

    label: str
    computation: AnyComputation
    in_order: bool
    late: Late
    key: Codec
    value: Codec
    output: Codec
    state: Codec | None
    dead_letters: bool = False
    pair: Shape | None = None
    in_columns: TransitionColumns | None = None

    @classmethod
    def of(
        cls, node: Process, element: RecordOf, output: RecordOf, codec_of: CodecOf, *, dead_letters: bool
    ) -> ComputationStage:
        """Returns the stage of a node, whose elements and outputs are pairs of some shapes."""
        key, value = (part.shape for part in element.fields)
        shape = state_shape(node.computation, value)
        return cls(
            node.label,
            node.computation,
            node.in_order,
            node.late,
            codec_of(key, "key"),
            codec_of(value, "value"),
            codec_of(output.fields[1].shape, "value"),
            None if shape is None else codec_of(shape, "__state"),
            dead_letters,
            element,
        )

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns of the key."""
        return self.key.columns

    @property
    def identity(self) -> tuple[str, ...]:
        """The columns by which rows have the same key, at least one."""
        return self.keys or (ONLY_KEY,)

    @cached_property
    def initial(self) -> pl.DataFrame | None:
        """The columns of the state of a key before its first element; ``None`` if that is not a state in columns."""
        state = self.calls.initial.state
        if self.state is None or not self.state.is_exact([state]):
            return None
        return pl.DataFrame(self.state.write([state], ""))

    @cached_property
    def calls(self) -> Calls:
        """The functions of the computation."""
        return Calls(self.computation, self.label, self.pair)
