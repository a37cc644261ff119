"""Computations over bounded data: the shard step over all elements in one instant, each key in order."""

from __future__ import annotations

import polars as pl
from attrs import evolve
from flowalg_shard.computations.kept_keys import Kept
from flowalg_shard.computations.step import compute

from flowalg.computations.computation import Late
from flowalg.data.time import MAX_TIME, MIN_TIME, ProcessingTime
from flowalg.pipeline.nodes import Process
from flowalg.runs.clocks import Clocks
from flowalg_polars.batch.computation_rows import PreparedComputation
from flowalg_polars.batch.dead_letters import DeadLetters
from flowalg_polars.batch.flow import Flow
from flowalg_polars.errors import keep_causes
from flowalg_polars.lowering.python_steps import frame_schema
from flowalg_polars.lowering.sifting import Sifted
from flowalg_polars.meta import ELEMENT_META


def lower_computation(node: Process, flow: Flow, time: pl.Expr, letters: DeadLetters | None) -> Flow:
    """Returns the outputs of a computation that observes all elements in order; failures are added to ``letters``."""
    in_order = evolve(node, in_order=True, late=Late.DROP)
    prepared = PreparedComputation.of(in_order, flow.shape, flow.meta, dead_letters=letters is not None)
    now = Clocks(ProcessingTime(int(pl.select(time).item())), MAX_TIME)

    def run(elements: pl.DataFrame) -> Sifted:
        with keep_causes():
            rows = prepared.rows(elements) if elements.height else pl.DataFrame()
            _, output = compute(prepared.stage, Kept(), rows, MIN_TIME, now)
            return Sifted(prepared.elements(output.outputs), output.bad_records)

    if letters is not None:
        notes = (*flow.notes, prepared.note)
        return letters.divide(flow.frame, run, prepared.pair, ELEMENT_META, notes, whole=True)
    schema = frame_schema(prepared.pair, ELEMENT_META)
    frame = flow.frame.map_batches(lambda elements: run(elements).frame, schema=schema)
    return Flow(frame, prepared.pair, ELEMENT_META, flow.notes).with_notes(prepared.note)


__all__ = ["lower_computation"]
