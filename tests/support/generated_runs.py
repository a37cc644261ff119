"""Runs of the reference interpreter over generated pipelines and timelines."""

from __future__ import annotations

from datetime import timedelta

import flowalg_reference as reference
from attrs import evolve
from flowalg_laws.kit.interpreters import apply_windowing
from flowalg_laws.kit.readings import VALUES
from flowalg_laws.strategies import dense_timelines, free_timelines, windowing_strategies
from flowalg_laws.strategies.pipelines import sum_values
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from flowalg import FOREVER, Mode, PCollection, Source, Timeline
from flowalg.data.errors import FlowalgError
from flowalg.pipeline.structure import sources_of
from tests.support.step_pairs import Inputs, add_count, any_pipelines, any_windows, corrections

Runs = SearchStrategy[reference.ReferenceRun[object]]


def run_reference(
    pipeline: PCollection[object], inputs: Inputs, mode: Mode
) -> list[reference.ReferenceRun[object]]:
    """Returns the run in a list; the list is empty if the run raises an error or if no source is read."""
    read = {source.name for source in sources_of(pipeline.node)}
    timelines: dict[Source[object], Timeline[object]] = {
        source: timeline for source, timeline in inputs.timelines.items() if source.name in read
    }
    try:
        run = reference.run(pipeline, timelines, mode=mode)
    except FlowalgError:
        return []
    return [run] if run.watermarks else []


def runs() -> Runs:
    """Returns runs of generated pipelines, over timelines of both sources, in either mode."""
    inputs = st.builds(Inputs.of_timelines, free_timelines(), free_timelines())
    lists = st.builds(run_reference, any_pipelines() | corrections(), inputs, st.sampled_from(Mode))
    return lists.filter(bool).map(lambda runs_: runs_[0])


def sums() -> Runs:
    """Returns runs of a sum in any windows, often with unset lateness, with or without a side input."""
    strategies = windowing_strategies(windows=any_windows())
    latenesses = st.sampled_from([None, FOREVER, timedelta(0), timedelta(minutes=9)])
    windowed = st.builds(
        lambda strategy, lateness: evolve(strategy, allowed_lateness=lateness), strategies, latenesses
    )
    plain = windowed.map(lambda strategy: sum_values(apply_windowing(VALUES, strategy)))
    with_side = windowed.map(lambda strategy: sum_values(add_count(apply_windowing(VALUES, strategy))))
    inputs = st.builds(Inputs.of_timelines, free_timelines() | dense_timelines(), free_timelines())
    lists = st.builds(run_reference, plain | plain | with_side, inputs, st.sampled_from(Mode))
    return lists.filter(bool).map(lambda runs_: runs_[0])
