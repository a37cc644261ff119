"""Side inputs that Python reads: mappings, and sides whose windows are not expressions of Spark.

The side is broadcast as data, because Spark Connect has no broadcast variables: a broadcast join adds all of it as one
column, whose value is kept in the first row of each partition only. The function over Arrow batches reads it from that
row. So a side must fit in a worker's memory, and in one row of Spark (2 GB).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, cast

import pyarrow as pa
from attrs import evolve, frozen
from flowalg_columns.layout import Layout, layout_of
from flowalg_columns.notes import LiftingNote
from flowalg_columns.python.rows import Rows, repeat_metadata
from flowalg_columns.python.side_values import SideValues
from flowalg_columns.values import decode, read_elements, read_integers, write_arrays
from flowalg_shard.tables.columns import END, EVENT_TIME, START
from pyspark.sql.functions import broadcast

from flowalg.data.shapes import Shape, TupleOf
from flowalg.data.time import EventTime
from flowalg.data.values import sort_by_time
from flowalg.elementwise.steps import Step
from flowalg.lifting.analysis import StepAnalysis
from flowalg.lifting.lookups import steps_on_mapping
from flowalg.pipeline.nodes import WithSide
from flowalg.pipeline.side_inputs import View, window_read
from flowalg.windows.window import Window
from flowalg.windows.window_functions import WindowFn
from flowalg_spark.encoding import sql
from flowalg_spark.encoding.columns import aggregate, col, nest
from flowalg_spark.encoding.schema import arrow_schema
from flowalg_spark.lowering.element_wise import apply_analyses, lifting_note
from flowalg_spark.lowering.flow import Flow, row_schema

_SIDE: Final = "__side"
_ROWS_OF_A_PARTITION: Final = 2**33
"""``monotonically_increasing_id`` counts the rows of a partition, above its number times this."""


def lower_side_input_in_python(
    node: WithSide, main: Flow, side: Flow, shape: TupleOf, steps: Sequence[StepAnalysis]
) -> Flow:
    """Returns each element with the value that it reads from the side, after the given steps.

    The steps over elements that contain a mapping run in the same pass, since a mapping has no columns.
    """
    effective = node.side.windowing
    windows = effective.strategy.windows
    together, after, others = steps_on_mapping(steps, shape)
    point = col(EVENT_TIME)
    bounds = [point, point] if effective.fresh else [col(START), col(END)]
    row = sql.struct(
        point.alias("time"),
        *(bound.alias(name) for bound, name in zip(bounds, ("start", "end"), strict=True)),
        nest(side.element).alias("value"),
    )
    everything = aggregate(side.frame, (), [sql.collect_list(row).alias(_SIDE)])
    # Rows are numbered after the join: before it, Spark may number them and then change the partitions.
    number = sql.monotonically_increasing_id() % _ROWS_OF_A_PARTITION
    whole = sql.when(number == 0, col(_SIDE)).column
    joined = main.frame.crossJoin(broadcast(everything)).withColumn(_SIDE, whole)
    function = ReadInPython(
        layout_of(main.shape),
        side.shape,
        windows,
        effective.fresh,
        node.view,
        tuple(step.step for step in together),
        layout_of(after),
        arrow_schema(row_schema(after, main.meta)),
    )
    notes = [LiftingNote("with_side", "a side input that has no columns", None), *map(lifting_note, together)]
    flow = evolve(main, frame=joined).map_in_arrow(function, after)
    return apply_analyses(flow.with_notes(*side.notes, *notes), others)


@frozen
class ReadInPython:
    """Adds the value that each element of a partition reads from a side, which is in the first row."""

    main: Layout
    side: Shape
    windows: WindowFn
    fresh: bool
    view: View
    steps: tuple[Step, ...]
    after: Layout
    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Returns the batches after the steps."""
        side_values: SideValues | None = None
        for batch in batches:
            if batch.num_rows:
                side_values = (
                    SideValues(self.view, self.windows, self.side_values(batch))
                    if side_values is None
                    else side_values
                )
                yield self.transform(batch, side_values)

    def side_values(self, batch: pa.RecordBatch) -> dict[Window, list[object]]:
        """Returns the values of each window of the side, by event time and then by value."""
        rows = cast("list[dict[str, object]] | None", batch.column(_SIDE)[0].as_py())
        assert rows is not None, "the first row of a partition has the side"
        by_window: dict[Window, list[tuple[int, object]]] = {}
        for row in rows:
            timed = (cast("int", row["time"]), decode(row["value"], self.side))
            by_window.setdefault(self.window_of(row), []).append(timed)
        return {window: sort_by_time(timed) for window, timed in by_window.items()}

    def window_of(self, row: dict[str, object]) -> Window:
        """Returns the window of a value of the side."""
        time, start, end = (EventTime(cast("int", row[name])) for name in ("time", "start", "end"))
        return window_read(self.windows, time) if self.fresh else Window(start, end)

    def transform(self, batch: pa.RecordBatch, side_values: SideValues) -> pa.RecordBatch:
        """Returns one batch after the steps."""
        times = read_integers(batch, EVENT_TIME)
        pairs: list[object] = [
            (element, side_values.read(time))
            for element, time in zip(read_elements(self.main, batch), times, strict=True)
        ]
        rows = Rows(pairs, [*times], list(range(batch.num_rows)))
        for step in self.steps:
            rows.apply_step(step)
        where = f"the result of {self.steps[-1].label if self.steps else 'with_side'}"
        arrays = write_arrays(self.after, rows.elements, where)
        metadata = self.schema.names[len(arrays) :]
        others = repeat_metadata(batch, metadata, rows.origins)
        for name in metadata:
            arrays.append(pa.array(rows.times, pa.int64()) if name == EVENT_TIME else others.column(name))
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)
