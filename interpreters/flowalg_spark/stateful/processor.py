"""The stateful operator: a thin shell around a stage of ``flowalg_shard``, which loads and stores its state."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from flowalg_shard import Operator, Sent, Stored, advanced, pack, unpack
from flowalg_shard.tables import stack
from pyspark.sql import Row
from pyspark.sql import types as T
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from flowalg.errors import UnsupportedError

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import TimerValues, ValueState

FORMAT: Final = 3
"""The version of the state's layout; another one is refused, not guessed at."""

EMISSION_SCHEMA: Final = T.StructType(
    [
        T.StructField("panes", T.BinaryType()),
        T.StructField("beside", T.BinaryType()),
        T.StructField("drops", T.BinaryType()),
        T.StructField("refused", T.BinaryType()),
        T.StructField("report", T.BinaryType()),
    ]
)
"""What a shard emits in an instant."""

_STATE_SCHEMA: Final = T.StructType(
    [
        T.StructField("format", T.IntegerType()),
        T.StructField("shards", T.IntegerType()),
        T.StructField("heard", T.BinaryType()),
        T.StructField("table", T.BinaryType()),
        T.StructField("beside", T.BinaryType()),
    ]
)


class ShardProcessor(StatefulProcessor):
    """One instant of one shard: what all partitions of the inputs send in, one emission out.

    Every shard hears every partition, so all shards come to the same clocks; Spark's own watermark and timers are
    not used. Deterministic, so a batch that is tried again gives the same. With ``reports`` an emission is made in
    every instant, since a stage behind this one wants to hear of its clocks.
    """

    def __init__(self, operator: Operator, shards: int, *, reports: bool) -> None:
        self.operator = operator
        self.shards = shards
        self.reports = reports

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Name the state variable; runs on the driver too."""
        self.state: ValueState = handle.getValueState("shard", _STATE_SCHEMA)

    def handleInputRows(  # type: ignore[override]  # the Row form of the two that Spark declares as one
        self,
        key: tuple[int, ...],
        rows: Iterator[Row],
        timerValues: TimerValues,
    ) -> Iterator[Row]:
        """Run the stage over the batch's rows."""
        sent: list[list[Sent]] = [[] for _ in self.operator.inputs]
        passing: list[bytes] = []
        for row in rows:
            reports = pickle.loads(bytes(row.reports))  # of our own making
            sent[row.input].append(Sent(bytes(row.bundle), reports))
            if row.refused:
                passing.append(bytes(row.refused))
        after, emitted = advanced(self.operator, self._load(), sent, first=key[0] == 0)
        self.state.update((FORMAT, self.shards, pickle.dumps(after.heard), after.table, after.beside))
        if self.reports or emitted.panes or emitted.drops or passing:
            yield Row(
                panes=emitted.panes,
                beside=emitted.beside,
                drops=emitted.drops,
                refused=pack(stack([unpack(one) for one in passing])),
                report=pickle.dumps(emitted.report),
            )

    def _load(self) -> Stored | None:
        found = self.state.get()
        if found is None:
            return None
        version, shards, heard, table, beside = found
        if version != FORMAT:
            raise UnsupportedError(
                f"the checkpoint's state has format {version}; this version reads {FORMAT}"
            )
        if shards != self.shards:
            raise UnsupportedError(
                f"the checkpoint was written with {shards} shards, and the query now has {self.shards}; "
                f"compile with shards={shards}"
            )
        return Stored(pickle.loads(bytes(heard)), bytes(table), bytes(beside))

    def close(self) -> None:
        """Nothing is held open."""


__all__ = ["EMISSION_SCHEMA", "FORMAT", "ShardProcessor"]
