"""Branches of one collection that are flattened again, as one pass over its rows instead of a union.

A union repeats the plan of the shared collection in each branch, and a chain of such diamonds would double the plan at
each level.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from attrs import evolve

from flowalg.data.errors import UnsupportedError
from flowalg.elementwise.steps import Step
from flowalg_polars.batch.flow import Flow
from flowalg_polars.lowering.programs import compile_steps
from flowalg_polars.lowering.python_steps import frame_schema


def fan_out(flow: Flow, chains: Sequence[tuple[Step, ...]]) -> Flow:
    """Returns the union of several chains of steps over a flow."""
    programs = [compile_steps(chain, flow.shape, flow.meta) for chain in chains]
    first, *others = programs
    for other in others:
        if other.shape != first.shape:
            raise UnsupportedError(
                f"flatten: the elements of all collections must be of one type, or of types that have a sum; got {first.shape} and {other.shape}"
            )

    def apply(rows: pl.DataFrame) -> pl.DataFrame:
        return pl.concat([program.compute(rows) for program in programs])

    frame = flow.frame.map_batches(apply, schema=frame_schema(first.shape, flow.meta), streamable=True)
    notes = [note for program in programs for note in program.notes]
    return evolve(flow, frame=frame, shape=first.shape).with_notes(*notes)
