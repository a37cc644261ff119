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
from tests.support.step_pairs import Played, any_pipelines, any_windows, beside_a_count, corrections

Runs = SearchStrategy[reference.ReferenceRun[object]]


def ran(pipeline: PCollection[object], played: Played, mode: Mode) -> list[reference.ReferenceRun[object]]:
    """A run of the reference; discarded if a user-defined function refuses its argument, or if no source is read."""
    read = {one.name for one in sources_of(pipeline.node)}
    timelines: dict[Source[object], Timeline[object]] = {
        source: one for source, one in played.timelines.items() if source.name in read
    }
    try:
        run = reference.run(pipeline, timelines, mode=mode)
    except FlowalgError:
        return []
    return [run] if run.watermarks else []


def runs() -> Runs:
    """Runs of generated pipelines, over timelines of both sources, in either mode."""
    played = st.builds(Played.free, free_timelines(), free_timelines())
    made = st.builds(ran, any_pipelines() | corrections(), played, st.sampled_from(Mode))
    return made.filter(bool).map(lambda found: found[0])


def sums() -> Runs:
    """Runs of a sum in any windows, often with unset lateness, with or without a side input."""
    strategies = windowing_strategies(windows=any_windows())
    unsaid = st.sampled_from([None, FOREVER, timedelta(0), timedelta(minutes=9)])
    windowed = st.builds(lambda one, late: evolve(one, allowed_lateness=late), strategies, unsaid)
    plain = windowed.map(lambda one: sum_values(apply_windowing(VALUES, one)))
    beside = windowed.map(lambda one: sum_values(beside_a_count(apply_windowing(VALUES, one))))
    played = st.builds(Played.free, free_timelines() | dense_timelines(), free_timelines())
    made = st.builds(ran, plain | plain | beside, played, st.sampled_from(Mode))
    return made.filter(bool).map(lambda found: found[0])
