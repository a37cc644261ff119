"""What a grouping is to the step: its key columns, its aggregates over argument columns, and its strategy."""

from __future__ import annotations

from attrs import frozen

from flowalg.combiners import Combiner, Count, Max, Mean, Min, Over, Sum, Together
from flowalg.errors import UnsupportedError
from flowalg.shapes import FLOAT, Shape
from flowalg.windowing import WindowingStrategy

Scalar = Sum[int] | Count | Mean | Min[object] | Max[object]

START = "__start"
END = "__end"
EVENT_TIME = "__event_time"
PROCESSING_TIME = "__processing_time"
KEEP = "__keep"
ENDED = "__ended"
SHARD = "__shard"


@frozen
class AggregateColumn:
    """One built-in combiner over one column.

    ``argument`` is the column that it reads (``None`` for ``Count``), ``result`` the one that its panes carry.
    """

    combiner: Scalar
    argument: str | None
    floating: bool
    result: str

    @property
    def accumulators(self) -> tuple[str, ...]:
        """The columns of its accumulator, in bundles and in state."""
        return (
            (f"{self.result}#sum", f"{self.result}#n") if isinstance(self.combiner, Mean) else (self.result,)
        )


@frozen
class Stage:
    """A grouping, compiled: pure data, the same for every shard and batch."""

    label: str
    keys: tuple[str, ...]
    aggregates: tuple[AggregateColumn, ...]
    strategy: WindowingStrategy


def scalar_combiners(
    combiner: Combiner[object, object, object],
) -> tuple[Combiner[object, object, object], ...]:
    """The combiners that a grouping computes side by side."""
    return combiner.parts if isinstance(combiner, Together) else (combiner,)


def aggregate_columns(
    combiner: Combiner[object, object, object], arguments: tuple[Shape | None, ...]
) -> tuple[AggregateColumn, ...]:
    """The columns of a combiner whose i-th argument has the i-th shape (``None`` where it reads none).

    Raises ``UnsupportedError`` for a combiner that is not built in.
    """
    columns = []
    for index, (part, shape) in enumerate(zip(scalar_combiners(combiner), arguments, strict=True)):
        inner: object = part.combiner if isinstance(part, Over) else part
        if not isinstance(inner, Sum | Count | Mean | Min | Max):
            raise UnsupportedError(
                f"the combiner {type(inner).__name__} is not built in, and so runs in the reference interpreter only"
            )
        argument = None if isinstance(inner, Count) else f"a{index}"
        columns.append(AggregateColumn(inner, argument, floating=shape == FLOAT, result=f"r{index}"))
    return tuple(columns)


__all__ = [
    "END",
    "ENDED",
    "EVENT_TIME",
    "KEEP",
    "PROCESSING_TIME",
    "SHARD",
    "START",
    "AggregateColumn",
    "Stage",
    "aggregate_columns",
    "scalar_combiners",
]
