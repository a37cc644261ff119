"""Writes the state of stages to a new checkpoint, as the initial state of a query that reads no data.

Spark has no writer of states, but the first micro-batch of a query may be given the state of its operators. The query
has one operator for each stage, in the order in which Spark numbers them, and this one micro-batch.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from attrs import frozen
from flowalg_shard import OperatorState, Segment, StageDescription, WindowStore
from flowalg_shard.tables.columns import SHARD
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from flowalg_spark.session import CHANGELOG_KEY, replace_settings
from flowalg_spark.state.state_format import Store
from flowalg_spark.state.variables import declare

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import TimerValues

_STATE: Final = "state"
_KEYS: Final = T.StructType([T.StructField(SHARD, T.IntegerType())])
_STATES: Final = T.StructType([*_KEYS.fields, T.StructField(_STATE, T.BinaryType())])


@frozen
class StageStates:
    """The state of each shard of a stage."""

    stage: StageDescription
    states: Mapping[int, OperatorState]


class StateWriter(StatefulProcessor):
    """Writes the initial state of a shard, and ignores rows."""

    def __init__(self, stage: StageDescription, shards: int) -> None:
        self.stage = stage
        self.shards = shards

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declares the state variables, which are those of ``ShardProcessor``."""
        self.store = Store.of(declare(handle), self.stage, self.shards, 0)

    def handleInitialState(  # type: ignore[override]  # the Row form of the two that Spark declares as one
        self, key: tuple[int, ...], initialState: Row, timerValues: TimerValues
    ) -> None:
        """Writes the state of a shard."""
        self.store.write(None, _unpack(bytes(initialState[_STATE])))

    def handleInputRows(  # type: ignore[override]  # the Row form of the two that Spark declares as one
        self, key: tuple[int, ...], rows: Iterator[Row], timerValues: TimerValues
    ) -> Iterator[Row]:
        """Yields nothing."""
        yield from ()

    def close(self) -> None:
        """Does nothing: the processor holds no resources."""


def write_states(session: SparkSession, checkpoint: str, stages: Sequence[StageStates]) -> None:
    """Writes the states of stages, in the order of their numbers, as the first micro-batch of a new checkpoint.

    The state stores are written as snapshots, which need no earlier versions.
    """
    frame = session.readStream.format("rate-micro-batch").option("rowsPerBatch", 1).load()
    # A literal would make the key non-nullable, unlike in a query, and nullability is part of the state's schema.
    frame = frame.select(F.when(F.col("value") >= 0, min(stages[0].states)).alias(SHARD))
    # Spark numbers the operators from the last one.
    for stage in reversed(stages):
        writer = StateWriter(stage.stage, len(stage.states))
        initial = _initial_states(session, stage.states).groupBy(SHARD)
        frame = frame.groupBy(SHARD).transformWithState(writer, _KEYS, "append", "None", initial)
    with replace_settings(session, {CHANGELOG_KEY: "false"}):
        started = frame.writeStream.format("noop").option("checkpointLocation", checkpoint)
        query = started.trigger(availableNow=True).start()
        try:
            query.awaitTermination()
        finally:
            query.stop()


def _initial_states(session: SparkSession, states: Mapping[int, OperatorState]) -> DataFrame:
    rows = [(shard, bytearray(_pack(state))) for shard, state in states.items()]
    return session.createDataFrame(rows, _STATES)


def _pack(state: OperatorState) -> bytes:
    segments = [(segment.name, segment.packed) for segment in state.windows.segments]
    return pickle.dumps((state.input_clocks, state.side_input, segments))


def _unpack(payload: bytes) -> OperatorState:
    clocks, side, segments = pickle.loads(payload)  # trusted: pickled by ``_pack``
    packed: dict[str, bytes] = dict(segments)
    windows = WindowStore.restore(list(packed), lambda name: Segment.restore(name, packed[name]))
    return OperatorState(clocks, windows, side)
