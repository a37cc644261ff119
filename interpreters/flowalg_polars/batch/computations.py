"""Computations over bounded data: the shard step over all elements in one instant, each key in order."""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping
from typing import Final

import polars as pl
from attrs import evolve
from flowalg_shard.computations.kept_keys import Kept
from flowalg_shard.computations.step import compute
from flowalg_shard.tables.columns import EVENT_TIME

from flowalg.computations.computation import Late
from flowalg.computations.library import depends_on_horizon
from flowalg.data.time import MAX_TIME, MIN_TIME, EventTime, ProcessingTime
from flowalg.pipeline.nodes import Process
from flowalg.runs.clocks import Clocks
from flowalg_polars.batch.dead_letters import DeadLetters
from flowalg_polars.batch.flow import Flow
from flowalg_polars.errors import keep_causes
from flowalg_polars.lowering.computation_rows import PreparedComputation
from flowalg_polars.lowering.python_steps import frame_schema
from flowalg_polars.lowering.sections import Sifted
from flowalg_polars.meta import ELEMENT_META

_HORIZON: Final = "__horizon"


def lower_computation(
    node: Process,
    flow: Flow,
    sources: Iterable[Flow],
    time: pl.Expr,
    letters: DeadLetters | None,
    unfired: MutableMapping[int, int],
) -> Flow:
    """Returns the outputs of a computation that observes all elements in order; failures are added to ``letters``.

    ``sources`` are the elements of the sources that it reads, which determine the horizon. When the outputs are
    computed, ``unfired`` has the number of its unfired timers under a new number.
    """
    number = len(unfired)
    unfired[number] = 0
    in_order = evolve(node, in_order=True, late=Late.DROP)
    prepared = PreparedComputation.of(in_order, flow.shape, flow.meta, dead_letters=letters is not None)
    now = Clocks(ProcessingTime(int(pl.select(time).item())), MAX_TIME)
    frame = flow.frame
    if depends_on_horizon(node.computation):
        frame = frame.join(_horizon_of(sources), how="cross")

    def run(elements: pl.DataFrame) -> Sifted:
        with keep_causes():
            rows = prepared.rows(elements) if elements.height else pl.DataFrame()
            has_horizon = elements.height and _HORIZON in elements.columns
            horizon = EventTime(elements[_HORIZON][0]) if has_horizon else MIN_TIME
            _, output = compute(prepared.stage, Kept(), rows, MIN_TIME, evolve(now, horizon=horizon))
            unfired[number] = output.unfired  # set and not added, since Polars may compute the outputs twice
            return Sifted(prepared.elements(output.outputs), output.bad_records)

    if letters is not None:
        notes = (*flow.notes, prepared.note)
        return letters.divide(frame, run, prepared.pair, ELEMENT_META, notes, whole=True)
    schema = frame_schema(prepared.pair, ELEMENT_META)
    emitted = frame.map_batches(lambda elements: run(elements).frame, schema=schema)
    return Flow(emitted, prepared.pair, ELEMENT_META, flow.notes).with_notes(prepared.note)


def _horizon_of(sources: Iterable[Flow]) -> pl.LazyFrame:
    """Returns the horizon of some sources as a table with one row (SEMANTICS section 17)."""
    latest = [source.frame.select(pl.col(EVENT_TIME).max() + 1) for source in sources]
    return pl.concat(latest).select(pl.col(EVENT_TIME).max().fill_null(MIN_TIME).alias(_HORIZON))
