"""The state variables of a shard, and a processor that declares them before anything of it is loaded.

When a query starts, Spark runs a new process of Python for each stage, one after the other, only to declare the
variables. Loading flowalg and Polars takes most of the time of such a process. So this module, which only needs Spark,
is pickled by value, and holds the processor that does the work as bytes until a task has rows.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from pyspark import cloudpickle
from pyspark.serializers import CloudPickleSerializer
from pyspark.sql import Row
from pyspark.sql import types as T
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import MapState, TimerValues, ValueState

_HEAD: Final = T.StructType(
    [
        T.StructField("format", T.IntegerType()),
        T.StructField("shards", T.IntegerType()),
        T.StructField("stage", T.BinaryType()),
        T.StructField("id", T.StringType()),
        T.StructField("token", T.StringType()),
        T.StructField("clocks", T.BinaryType()),
        T.StructField("side", T.BinaryType()),
        T.StructField("segments", T.BinaryType()),
        T.StructField("newest", T.BinaryType()),
    ]
)
_LOG_KEY: Final = T.StructType(
    [T.StructField("segment", T.StringType()), T.StructField("chunk", T.IntegerType())]
)
_LOG_VALUE: Final = T.StructType([T.StructField("bytes", T.BinaryType())])

Variables: TypeAlias = "tuple[ValueState, MapState]"
"""The head of a shard's state, and the log of its segments."""


def declare(handle: StatefulProcessorHandle) -> Variables:
    """Declares the state variables of a shard."""
    return handle.getValueState("shard", _HEAD), handle.getMapState("segments", _LOG_KEY, _LOG_VALUE)


class Processor(Protocol):
    """What a stage does with the rows of a shard in a micro-batch."""

    def process(self, variables: Variables, shard: int, rows: Iterator[Row]) -> Iterator[Row]:
        """Yields the rows that the shard emits."""
        ...


class Postponed(StatefulProcessor):
    """A processor that is loaded when it has rows."""

    def __init__(self, processor: Processor) -> None:
        self.pickled: bytes = CloudPickleSerializer().dumps(processor)  # type: ignore[no-untyped-call]
        self.processor: Processor | None = None

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declares the state variables; Spark calls it on the driver too."""
        self.variables = declare(handle)

    def handleInputRows(  # type: ignore[override]  # the Row form of the two that Spark declares as one
        self, key: tuple[int, ...], rows: Iterator[Row], timerValues: TimerValues
    ) -> Iterator[Row]:
        """Yields what the processor emits."""
        if self.processor is None:
            loaded: Processor = pickle.loads(self.pickled)  # trusted: Spark sent it with this object
            self.processor = loaded
        from flowalg_spark.lowering.worker_errors import send_errors  # as late as what the processor imports

        with send_errors():
            yield from self.processor.process(self.variables, key[0], rows)

    def close(self) -> None:
        """Does nothing: the processor holds no resources."""


cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]
