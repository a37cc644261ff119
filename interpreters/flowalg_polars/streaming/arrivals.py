"""What an operator receives in one instant: elements, and the clock reports of its upstreams."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import polars as pl
from attrs import frozen
from flowalg_shard.clocks.exchange import Report, Reports, SourceReport


@frozen
class Observation:
    """What a source observes in an instant, as a query over its records, and the report of its result.

    It is collected together with the elements, so that the records are read once.
    """

    query: pl.LazyFrame
    report: Callable[[pl.DataFrame], SourceReport]


Arriving: TypeAlias = Mapping[int, "Report | Observation"]
"""The clock reports of the upstreams, some of which are not computed yet."""


@frozen
class Arrival:
    """The output of an operator in one instant: its elements in order, and the clock reports of its upstreams."""

    frame: pl.LazyFrame
    reports: Arriving

    @property
    def collected(self) -> Arrival:
        """The same with its elements in memory, and all its reports."""
        (frame,), (reports,) = collect_together([self.frame], [self.reports])
        return Arrival(frame.lazy(), reports)


def collect_together(
    frames: Sequence[pl.LazyFrame], reports: Sequence[Arriving]
) -> tuple[list[pl.DataFrame], list[Reports]]:
    """Returns the rows of some frames, and all reports."""
    observations = [
        observation
        for arriving in reports
        for observation in arriving.values()
        if isinstance(observation, Observation)
    ]
    if not observations and len(frames) == 1:
        rows = [frames[0].collect()]
    else:
        rows = pl.collect_all([*frames, *(observation.query for observation in observations)])
    seen = iter(rows[len(frames) :])
    collected: list[Reports] = [
        {
            number: report.report(next(seen)) if isinstance(report, Observation) else report
            for number, report in arriving.items()
        }
        for arriving in reports
    ]
    return rows[: len(frames)], collected
