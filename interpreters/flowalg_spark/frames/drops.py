"""The drops of a frame as typed values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cached_property
from typing import TypeAlias, cast

import pyarrow as pa
from attrs import frozen
from flowalg_columns.json_text import decode_json
from flowalg_columns.names import BAD_RECORD
from flowalg_columns.output_elements import DROP_WINDOW
from flowalg_columns.values import decode
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from flowalg.data.errors import ArgumentError
from flowalg.data.json_text import dump_json
from flowalg.data.kv import KV
from flowalg.data.shapes import RecordOf, Shape
from flowalg.data.time import event_time, processing_time
from flowalg.data.values import sort_key
from flowalg.pipeline.nodes import GroupingNode, Node, Process, WithSide
from flowalg.pipeline.outputs import ONLY_OUTPUT, emits_panes
from flowalg.pipeline.pcollection import PCollection
from flowalg.pipeline.structure import last_grouping
from flowalg.plan.plan import plan_stream
from flowalg.runs.bad_records import BadRecord
from flowalg.runs.panes import Change, Drop, DroppedElement, DropReason, dropped_key
from flowalg.windows.window import Window

Stage: TypeAlias = GroupingNode | Process | WithSide
"""A transform with state, which can drop elements."""


def collect_drops(pipeline: PCollection[object], frame: DataFrame) -> tuple[Drop, ...]:
    """Collects the drops of a frame from ``with_drops``, or of a table that a sink has stored, as typed values.

    They are sorted by processing time, window and key. Each of a query with ``late_data`` is a ``DroppedElement``. Bad
    records are not drops of a window, and are excluded. The drops must fit in memory. Raises ``ArgumentError`` for the
    drop of a stage that the pipeline does not have.
    """
    window = "window" if emits_panes(pipeline.node) else DROP_WINDOW
    return _collect({ONLY_OUTPUT: pipeline}, frame, window)


def collect_drops_of(outputs: Mapping[str, PCollection[object]], frame: DataFrame) -> tuple[Drop, ...]:
    """Collects the drops of several outputs of a stream, as ``collect_drops`` does."""
    return _collect(outputs, frame, DROP_WINDOW)


def collect_bad_records(frame: DataFrame) -> tuple[BadRecord, ...]:
    """Collects the bad records of a frame from ``with_drops``, or of a table that a sink has stored, sorted.

    There are none if the query was compiled without ``dead_letters``. The bad records must fit in memory.
    """
    drop = frame.schema["drop"].dataType
    if not isinstance(drop, T.StructType) or "error" not in drop.names:
        return ()
    bad = frame.filter(F.col("drop.reason") == BAD_RECORD).select("drop.*")
    return read_bad_records(bad.select("stage", "error", "value").toArrow())


def read_bad_records(table: pa.Table) -> tuple[BadRecord, ...]:
    """Returns the bad records in a table with the columns of drops, sorted. Their JSON is written as Python does."""
    rows = table.select(["stage", "error", "value"]).to_pylist()
    records = (BadRecord(row["stage"], row["error"], dump_json(json.loads(row["value"]))) for row in rows)
    return tuple(sorted(records))


def _collect(outputs: Mapping[str, PCollection[object]], frame: DataFrame, window: str) -> tuple[Drop, ...]:
    drops = frame.filter(F.col("drop").isNotNull()).select("drop", window).toArrow().to_pylist()
    reasons = {reason.value for reason in DropReason}
    rows = [(row["drop"], row[window]) for row in drops if row["drop"]["reason"] in reasons]
    keys = _Keys(outputs)
    typed = [keys.drop(drop, _window(bounds)) for drop, bounds in rows]
    return tuple(sorted(typed, key=lambda drop: (drop.processing_time, drop.window, sort_key(drop.key))))


def _window(bounds: Mapping[str, datetime]) -> Window:
    return Window(*(event_time(bounds[name].astimezone(UTC)) for name in ("start", "end")))


def _point(time: object) -> datetime:
    return cast("datetime", time).astimezone(UTC)


@frozen(slots=False)
class _Keys:
    """The keys and elements of the drops of a query.

    If several of its stages can drop, a key is JSON beside the stage's name, and so is an element of late data.
    """

    outputs: Mapping[str, PCollection[object]]

    def drop(self, drop: Mapping[str, object], window: Window) -> Drop:
        """Returns a drop as a typed value."""
        reason, now = DropReason(drop["reason"]), processing_time(_point(drop["processing_time"]))
        if "event_time" not in drop:
            return Drop(self.of(drop), window, reason, now, count=cast("int", drop["count"]))
        stage, input = self._transform(drop["stage"]), cast("int", drop["input"])
        shape = stage.inputs[input].shape
        assert shape is not None, "stages on Spark have elements of a known shape"
        element = decode_json(str(drop["value"]), shape)
        return DroppedElement(
            dropped_key(element),
            window,
            reason,
            now,
            element,
            event_time(_point(drop["event_time"])),
            event_time(_point(drop["watermark"])),
            Change(drop["change"]),
            stage.label,
            input=input,
        )

    def of(self, drop: Mapping[str, object]) -> object:
        """Returns the key of a drop."""
        stage = drop.get("stage")
        if stage is None:
            (pipeline,) = self.outputs.values()
            return decode(drop["key"], _key_shape(last_grouping(pipeline.node)))
        return decode_json(str(drop["key"]), _key_shape(_dropped(self._transform(stage), drop["reason"])))

    def _transform(self, stage: object) -> Stage:
        if stage not in self._transforms:
            stages = ", ".join(map(repr, self._transforms))
            raise ArgumentError("the stage of a drop", stage, f"one of the pipeline: {stages}")
        return self._transforms[stage]

    @cached_property
    def _transforms(self) -> Mapping[object, Stage]:
        """The transform of each stage, by its name."""
        names = plan_stream(self.outputs, most_paths=1).stage_names
        return {name: stage.transform for stage, name in names.items()}


def _dropped(node: Stage, reason: object) -> Node:
    """Returns the collection of the elements that a stage dropped: a side input drops some of either of its inputs."""
    if not isinstance(node, WithSide):
        return node
    return node.side if reason == DropReason.CLOSED.value else node.input


def _key_shape(node: Node) -> Shape:
    """Returns the shape of the keys of dropped elements: of a pair its key, else the element."""
    shape = node.shape
    key = shape.fields[0].shape if isinstance(shape, RecordOf) and shape.cls is KV else shape
    assert key is not None, "stages on Spark have elements of a known shape"
    return key
