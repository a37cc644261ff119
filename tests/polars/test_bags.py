"""Lists, sets and joins of values of any type on streams, whose windows keep them in columns, against the reference.

These tests catch an order of values, or an equality, that columns and Python do not share.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum

import pytest
from attrs import frozen
from flowalg_columns.checks.stages import grouping_stage
from flowalg_laws import READINGS, VALUES, Reading
from flowalg_laws.kit.interpreters import apply_windowing
from flowalg_laws.strategies import free_timelines, windowing_strategies
from flowalg_polars import PolarsStreaming
from flowalg_polars.streaming.operators import Cluster
from flowalg_reference import Reference
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from flowalg import (
    KV,
    Accumulation,
    AtCount,
    AtWatermark,
    Count,
    Max,
    Min,
    Mode,
    PCollection,
    Quantile,
    Repeat,
    Sum,
    Timeline,
    ToList,
    TopN,
)
from flowalg.combiners import AllOf, AnyOf, Quantiles, ToSet
from flowalg.errors import ArgumentError, RecordTypeError
from flowalg.pipeline.nodes import CoGroupByKey, CombinePerKey
from flowalg.triggers import Trigger
from tests.support.step_pairs import any_windows

Values = PCollection[KV[str, int]]
Groups = PCollection[KV[str, object]]


class Colour(Enum):
    """Names whose order is not that of their values."""

    RED = "a"
    BLUE = "b"


@frozen
class Inner:
    """A record with a field that may be missing."""

    number: int
    text: str | None


@frozen
class Outer:
    """A record of a record that may be missing."""

    inner: Inner | None
    pair: tuple[bool, float]


TYPES: dict[str, Callable[[Values], PCollection[KV[str, object]]]] = {
    "integer": lambda values: values.map_values(lambda v: v % 3),
    "optional": lambda values: values.map_values(lambda v: None if v % 2 == 0 else v % 3),
    "text": lambda values: values.map_values(lambda v: "é" if v % 2 == 0 else "z"),
    "float": lambda values: values.map_values(lambda v: -0.0 if v % 2 == 0 else v / 2),
    "enum": lambda values: values.map_values(lambda v: Colour.RED if v % 2 == 0 else Colour.BLUE),
    "record": lambda values: values.map_values(lambda v: Inner(v % 2, None if v % 3 == 0 else "x")),
    "nested": lambda values: values.map_values(
        lambda v: Outer(None if v % 2 == 0 else Inner(1, None), (v % 3 == 0, v / 3))
    ),
    "list": lambda values: values.map_values(lambda v: [v % 2, v % 3], result=list[int]),
    "set": lambda values: values.map_values(lambda v: frozenset({v % 2, v % 3}), result=frozenset[int]),
    "bytes": lambda values: values.map_values(lambda v: b"\xff" if v % 2 == 0 else b"", result=bytes),
    "date": lambda values: values.map_values(lambda v: date(2024, 1, 1 + v % 3), result=date),
    "instant": lambda values: values.map_values(
        lambda v: datetime(2024, 1, 1 + v % 3, tzinfo=UTC), result=datetime
    ),
    "duration": lambda values: values.map_values(lambda v: timedelta(seconds=v % 3 - 1), result=timedelta),
    "decimal": lambda values: values.map_values(lambda v: Decimal(v % 3) / 2, result=Decimal),
}
GROUPINGS: dict[str, Callable[[Groups, Groups], Groups]] = {
    "list": lambda left, _: left.combine_per_key(ToList()),
    "set": lambda left, _: left.combine_per_key(ToSet()),
    "several": lambda left, _: left.combine_per_key(Count(), ToList()),
    "co-group": lambda left, right: left.co_group_by_key(right),
    "inner join": lambda left, right: left.inner_join(right),
    "left join": lambda left, right: left.left_join(right),
    "full join": lambda left, right: left.full_join(right),
}
CORRECTED: dict[str, Callable[[Values], Groups]] = {
    "greatest": lambda values: values.combine_per_key(Max()),
    "least": lambda values: values.combine_per_key(Min(), Count()),
    "truths": lambda values: values.map_values(lambda v: v > 1).combine_per_key(AnyOf(), AllOf()),
    "quantiles": lambda values: values.combine_per_key(
        Quantile(0.5), Quantiles((1, 0.29, 0), relative_error=0.3), Count()
    ),
    "by function": lambda values: values.combine_per_key(Min.of(lambda v: v // 2), ToList()),
    "top": lambda values: values.combine_per_key(TopN(2)),
    "list": lambda values: values.combine_per_key(ToList()),
    "set": lambda values: values.combine_per_key(ToSet()),
    "inner join": lambda values: values.inner_join(values.map_values(lambda v: v % 2)),
    "full join": lambda values: values.full_join(values.filter(lambda pair: pair.value > 2)),
}
EACH = Repeat(AtCount(1))
TRIGGERS: SearchStrategy[Trigger] = st.sampled_from(
    [
        EACH,
        Repeat(AtCount(2)),
        AtWatermark(),
        AtWatermark().with_early_firings(EACH).with_late_firings(AtCount(1)),
    ]
)
HALF = settings(max_examples=max(3, settings().max_examples // 2))
"""Half of the examples: each draws one of many types, windows and clusters, for one of seventeen groupings."""
CLUSTERS = (Cluster(), Cluster(2, 2, restarts=True))


def agree(pipeline: Groups, timeline: Timeline[Reading], cluster: Cluster) -> None:
    """Compares the panes and the number of drops of a stream with the reference."""
    inputs = {READINGS: timeline}
    wanted = Reference(Mode.MICRO_BATCH).run(pipeline, inputs)
    run = PolarsStreaming(cluster).run(pipeline, inputs)
    assert run.panes == wanted.panes
    assert sum(drop.count for drop in run.dropped) == len(wanted.dropped)


@pytest.mark.parametrize("grouping", GROUPINGS)
@HALF
@given(st.data())
def test_values_of_any_type_are_kept_in_columns(grouping: str, data: st.DataObject) -> None:
    """Streams have the panes and drops of the reference, in any windows, modes and clusters."""
    types = data.draw(st.tuples(*[st.sampled_from(sorted(TYPES))] * 2))
    values = apply_windowing(VALUES, data.draw(windowing_strategies(windows=any_windows(), trigger=TRIGGERS)))
    left, right = (TYPES[name](values) for name in types)
    try:
        pipeline = GROUPINGS[grouping](left, right)
    except (ArgumentError, RecordTypeError):  # such as a set of lists, or a join whose pairs can become wrong
        reject()
    agree(pipeline, data.draw(free_timelines()), data.draw(st.sampled_from(CLUSTERS)))


@pytest.mark.parametrize("grouping", CORRECTED)
@HALF
@given(st.data())
def test_corrected_values_are_kept_in_columns(grouping: str, data: st.DataObject) -> None:
    """Streams have the panes and drops of the reference where elements may be retracted, also in merging windows."""
    first = windowing_strategies(trigger=TRIGGERS, modes=st.just(Accumulation.RETRACTING))
    sums = apply_windowing(VALUES, data.draw(first)).combine_per_key(Sum())
    again = apply_windowing(sums, data.draw(windowing_strategies(windows=any_windows(), trigger=TRIGGERS)))
    try:
        pipeline = CORRECTED[grouping](again)
    except ArgumentError:
        reject()
    agree(pipeline, data.draw(free_timelines()), data.draw(st.sampled_from(CLUSTERS)))


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("grouping", ["list", "several", "co-group"])
def test_no_typed_value_is_kept_as_an_object(name: str, grouping: str) -> None:
    """A stage of lists or of a co-group has no combiner of objects, whatever the type of its values."""
    values = TYPES[name](VALUES)
    node = GROUPINGS[grouping](values, values).node
    assert isinstance(node, CombinePerKey | CoGroupByKey)
    shapes = [inner.shape for inner in node.inputs if inner.shape is not None]
    assert grouping_stage(node, shapes).stage.combiner is None
