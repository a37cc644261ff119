"""The stages of groupings and computations: what every engine decides before it has the columns of the elements."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from attrs import evolve, frozen
from flowalg_shard.computations.stage import ComputationStage, output_shape
from flowalg_shard.contents.stage import Stage, aggregate_columns, side_columns
from flowalg_shard.step.window_assignment import assigned_in_columns
from flowalg_shard.triggers.summary import SummaryColumns

from flowalg.combiners.core import AnyCombiner, component_combiners
from flowalg.combiners.result_shapes import combined_shape
from flowalg.combiners.subtraction import keeps_values
from flowalg.data.errors import UnsupportedError
from flowalg.data.shapes import ListOf, RecordOf, Shape, TupleOf, kv_of
from flowalg.pipeline.co_group import Join, Separate, drops_sides
from flowalg.pipeline.nodes import CombinePerKey, GroupingNode, Process
from flowalg.serialization.stored import NOT_DATA, store, unstorable_message
from flowalg_columns.checks.shapes import require_exact_pairs, require_one_key
from flowalg_columns.codec import Codec
from flowalg_columns.combiners import (
    ignores_values,
    runs_in_columns,
    subtracts_in_columns,
    unknown_result,
)
from flowalg_columns.keys import KeyColumns
from flowalg_columns.layout import A, Tree, key_and_value, layout_of, leaf_columns

_LOG: Final = logging.getLogger("flowalg.streaming")


@frozen
class GroupingStage:
    """The stage of a grouping, the shape of its pairs, and those of the values that it receives from each input.

    ``dropped`` is the shape of a key with the combined value of dropped elements: of a join a list for each side.
    A stage that keeps objects has its combiner. Any other one has no combiner; that of a co-group has an aggregate for
    each side, and that of one input no aggregates yet.
    """

    stage: Stage
    pair: RecordOf
    dropped: RecordOf
    values: tuple[Shape, ...]


def grouped_pair(node: CombinePerKey, elements: Shape) -> RecordOf:
    """Returns the shape of a key with the result of a grouping.

    Raises ``UnsupportedError`` for elements that are not pairs with exact keys, and for a result of an unknown type.
    """
    return result_pair(node, require_exact_pairs(elements, node.label))


def result_pair(node: CombinePerKey, pair: RecordOf) -> RecordOf:
    """Returns the shape of a key with a combiner's result; raises ``UnsupportedError`` if its type is unknown."""
    key, value = pair.fields
    result = combined_shape(node.combiner, value.shape)
    if result is None:
        raise unknown_result(node, value.shape)
    return kv_of(key.shape, result)


def grouping_stage(node: GroupingNode, elements: Sequence[Shape]) -> GroupingStage:
    """Returns the stage of a grouping of one input of pairs, or of a co-group of several.

    Raises ``UnsupportedError`` for types of keys and of combiners' results that columns do not hold, and for a trigger
    that counts beyond 64 bits.
    """
    pairs = [require_exact_pairs(shape, node.label) for shape in elements]
    require_one_key(pairs, node.label)
    result = node.shape
    if not isinstance(result, RecordOf):
        raise unknown_result(node, pairs[0].fields[1].shape)
    effective, key = node.windowed_by, key_and_value(layout_of(result))[0]
    SummaryColumns.of(effective.strategy.trigger)
    stage = Stage(
        node.label,
        leaf_columns(key),
        (),
        effective.strategy,
        fresh=effective.fresh,
        retractions=node.receives_retractions,
        preassigned=effective.fresh and not assigned_in_columns(effective.strategy.windows),
        key_codec=KeyColumns(key.shape),
    )
    values = tuple(pair.fields[1].shape for pair in pairs)
    dropped = result
    if drops_sides(node.combiner):
        dropped = kv_of(key.shape, TupleOf(tuple(map(ListOf, values))))
    return GroupingStage(_with_combiner(stage, node, values), result, dropped, values)


def _with_combiner(stage: Stage, node: GroupingNode, values: tuple[Shape, ...]) -> Stage:
    """Returns a stage with its combiner if it keeps objects; a co-group in columns with its aggregates."""
    combiner = node.combiner
    in_bag = stage.retractions and keeps_values(combiner, retractions=True)
    if isinstance(node, CombinePerKey):
        in_columns = runs_in_columns(combiner, values[0])
        if in_columns and stage.retractions and not in_bag:
            in_columns = subtracts_in_columns(combiner, values[0], stage.strategy)
        if in_columns:
            return evolve(stage, keeps_values=in_bag)
        require_accumulators(node)
        return evolve(stage, combiner=combiner)
    timed = isinstance(node.combiner, Separate) and node.combiner.timed
    join = node.combiner if isinstance(node.combiner, Join) else None
    return evolve(stage, aggregates=side_columns(values, timed=timed), join=join, keeps_values=in_bag)


def require_accumulators(node: CombinePerKey) -> None:
    """Raises ``UnsupportedError`` if the accumulators of a combiner in Python cannot be kept in state."""
    for part in component_combiners(node.combiner):
        _require_data(node.label, f"the accumulator of {part.title} for no values", part.zero)


def require_state(node: Process) -> None:
    """Raises ``UnsupportedError`` if the states of a computation cannot be kept, as the first one shows.

    Logs a warning if they are pickled.
    """
    if node.computation.pickled_state:
        _LOG.warning(
            "%s: its states are pickled (pickled_state=True), so anyone who may write to the checkpoint may run code",
            node.label,
        )
        return
    _require_data(node.label, "the initial state", lambda: node.computation.initial)


def _require_data(label: str, what: str, make: Callable[[], object]) -> None:
    """Raises ``UnsupportedError`` if what a function returns cannot be kept in state.

    An error of the function itself is one of the run, where it is called again.
    """
    try:
        value = make()
    except Exception:
        return
    try:
        store(value)
    except NOT_DATA as error:
        raise UnsupportedError(unstorable_message(f"{label}: {what}", error)) from error


def with_aggregates(
    stage: Stage, combiner: AnyCombiner, arguments: Sequence[Tree[A]]
) -> tuple[Stage, Mapping[str, Tree[A]]]:
    """Returns a stage with the aggregates of a combiner, and the arguments that they read by column.

    ``arguments`` has one for each component of the combiner.
    """
    items = [
        None if ignores_values(part) else item
        for part, item in zip(component_combiners(combiner), arguments, strict=True)
    ]
    shapes = tuple(None if item is None else item.shape for item in items)
    whole = evolve(stage, aggregates=aggregate_columns(combiner, shapes))
    columns = zip(whole.aggregates, items, strict=True)
    return whole, {
        aggregate.argument: item for aggregate, item in columns if aggregate.argument and item is not None
    }


def computation_stage(
    node: Process, elements: Shape, *, dead_letters: bool
) -> tuple[ComputationStage, RecordOf]:
    """Returns the stage of a computation, and the shape of its outputs.

    Raises ``UnsupportedError`` for elements that are not pairs with exact keys, and for outputs of an unknown type.
    """
    element, pair = require_exact_pairs(elements, node.label), output_shape(node)
    require_state(node)
    return ComputationStage.of(node, element, pair, Codec.of, dead_letters=dead_letters), pair
