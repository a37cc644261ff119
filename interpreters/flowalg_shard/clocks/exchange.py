"""How the shards of a stage learn the clocks: from reports in band, which every shard hears and understands alike.

What flows into a stage comes from *origins*: sources, and stages before it. Each part of an input tells, for each
origin that it has rows of, what they say of the clocks; whoever hears all parts moves on what it knows of each origin.
No shard asks another one, and all of them come to the same clocks. Laws: reports are merged in any order and division;
a stage behind others hears what these would have told it directly.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias, assert_never

from attrs import evolve, field, frozen

from flowalg.data.time import MAX_TIME, EventTime, ProcessingTime
from flowalg.watermarks import ClockSummary, SourceClock, WatermarkPolicy
from flowalg_shard.clocks.clocks import BEGINNING, Clocks, least


@frozen
class FromSource:
    """Elements that come from a source of some name, whose watermark a policy makes of what is seen of them."""

    policy: WatermarkPolicy
    name: str = ""


@frozen
class FromStage:
    """Elements that come out of another stage, whose shards say what its clocks read and what they hold back."""


Origin: TypeAlias = FromSource | FromStage


@frozen
class SourceReport:
    """What some rows of a source say of its clock, the signals given with them, and how many of them are elements."""

    clock: ClockSummary = field(factory=ClockSummary)
    signals: frozenset[str] = frozenset()
    elements: int = 0


@frozen
class StageReport:
    """What some shards of a stage say: the clocks that all of them have heard, and the least of their holds."""

    clocks: Clocks
    hold: EventTime = MAX_TIME


Report: TypeAlias = SourceReport | StageReport
Reports: TypeAlias = Mapping[int, Report]
"""By the number of the origin; what nothing is said of is not there."""


def merged(several: Iterable[Reports]) -> dict[int, Report]:
    """What several parts say together."""
    found: dict[int, Report] = {}
    for reports in several:
        for number, report in reports.items():
            found[number] = _both(found[number], report) if number in found else report
    return found


def _both(one: Report, other: Report) -> Report:
    match one, other:
        case SourceReport(), SourceReport():
            return SourceReport(
                one.clock.merge(other.clock), one.signals | other.signals, one.elements + other.elements
            )
        case StageReport(), StageReport():
            return StageReport(one.clocks, min(one.hold, other.hold))
        case _:
            raise AssertionError("an origin is a source or a stage")


Known: TypeAlias = SourceClock | Clocks
"""What is known of an origin: of a source its clock, of a stage the clocks behind it."""


@frozen
class Heard:
    """What a stage knows of the origins of one of its inputs, and what its clocks read there."""

    known: tuple[Known, ...]
    clocks: Clocks = BEGINNING

    @classmethod
    def nothing(cls, origins: Sequence[Origin]) -> Heard:
        """Before the first instant."""
        return cls(tuple(one.policy.start() if isinstance(one, FromSource) else BEGINNING for one in origins))


def hear(
    inputs: Sequence[Sequence[Origin]], before: Sequence[Heard], reports: Sequence[Reports]
) -> tuple[Heard, ...]:
    """What a stage knows after an instant, for each of its inputs.

    The instant's processing time is the latest that any report names, and signals are those given anywhere.
    """
    told = [report for one in reports for report in one.values()]
    now = max([before[0].clocks.processing_time, *(time for one in told for time in _times(one))])
    signals = frozenset[str]().union(*map(_signals, told))
    return tuple(
        _moved(origins, known, said, now, signals)
        for origins, known, said in zip(inputs, before, reports, strict=True)
    )


def _moved(
    origins: Sequence[Origin],
    before: Heard,
    reports: Reports,
    now: ProcessingTime,
    signals: frozenset[str],
) -> Heard:
    known = tuple(
        _known(origin, one, reports.get(number), now)
        for number, (origin, one) in enumerate(zip(origins, before.known, strict=True))
    )
    clocks = least([_clocks(one) for one in known])
    return Heard(known, evolve(clocks, processing_time=now, signals=signals))


def _known(origin: Origin, before: Known, report: Report | None, now: ProcessingTime) -> Known:
    match origin, before, report:
        case FromSource(policy=policy), SourceClock(), SourceReport(clock=said):
            return policy.advance(before, said, now)
        case FromSource(policy=policy), SourceClock(), None:
            return policy.advance(before, ClockSummary(), now)
        case FromStage(), Clocks(), StageReport(clocks=clocks, hold=hold):
            return clocks.held(hold, before)
        case FromStage(), Clocks(), None:
            return before
        case _:
            raise AssertionError("an origin is a source or a stage")


def _clocks(known: Known) -> Clocks:
    match known:
        case Clocks():
            return known
        case SourceClock():
            return Clocks(known.processing_time, known.watermark, known.percentiles)
    assert_never(known)


def _times(report: Report) -> tuple[ProcessingTime, ...]:
    if isinstance(report, StageReport):
        return (report.clocks.processing_time,)
    seen = report.clock.latest_processing
    return () if seen is None else (seen,)


def _signals(report: Report) -> frozenset[str]:
    return report.signals if isinstance(report, SourceReport) else report.clocks.signals


__all__ = [
    "FromSource",
    "FromStage",
    "Heard",
    "Origin",
    "Report",
    "Reports",
    "SourceReport",
    "StageReport",
    "hear",
    "merged",
]
