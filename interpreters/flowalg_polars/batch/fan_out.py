"""Branches of one collection that are flattened again, as one pass over its rows instead of a union.

A union repeats the plan of the shared collection in each branch, and a chain of such diamonds would double the plan at
each level.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from attrs import evolve
from flowalg_columns.checks.shapes import require_equal_shapes

from flowalg.elementwise.steps import Step
from flowalg_polars.batch.flow import Flow
from flowalg_polars.lowering.programs import compile_steps
from flowalg_polars.lowering.python_steps import frame_schema


def fan_out(flow: Flow, chains: Sequence[tuple[Step, ...]]) -> Flow:
    """Returns the union of several chains of steps over a flow."""
    programs = [compile_steps(chain, flow.shape, flow.meta) for chain in chains]
    require_equal_shapes([program.shape for program in programs])
    first = programs[0]

    def apply(rows: pl.DataFrame) -> pl.DataFrame:
        return pl.concat([program.compute(rows) for program in programs])

    frame = flow.frame.map_batches(apply, schema=frame_schema(first.shape, flow.meta), streamable=True)
    notes = [note for program in programs for note in program.notes]
    return evolve(flow, frame=frame, shape=first.shape).with_notes(*notes)
