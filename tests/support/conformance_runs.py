"""The reference interpreter as the conformance suite calls it, in each of its three ways to run."""

from __future__ import annotations

import flowalg_reference
from flowalg_laws.conformance import Outcome, Replay, count_drops

from flowalg import Mode, PCollection
from flowalg.analysis.capabilities import Capabilities
from flowalg.analysis.features import Feature

BATCHES_ONLY = Capabilities("the reference as a batch", {Feature.STREAMING: "it is asked for batches here"})


def micro_batches(pipeline: PCollection[object], replay: Replay, /) -> Outcome:
    """An engine that evaluates timers with its batches."""
    run = flowalg_reference.run(pipeline, replay.timelines, mode=Mode.MICRO_BATCH)
    return Outcome(run.panes, count_drops(run.dropped))


def continuous(pipeline: PCollection[object], replay: Replay, /) -> Outcome:
    """An engine that evaluates timers at every deadline."""
    run = flowalg_reference.run(pipeline, replay.timelines, mode=Mode.CONTINUOUS)
    return Outcome(run.panes, count_drops(run.dropped))


def batch(pipeline: PCollection[object], replay: Replay, /) -> Outcome:
    """All elements in one instant."""
    return Outcome(flowalg_reference.run_batch(pipeline, replay.records, time=replay.time).panes)
