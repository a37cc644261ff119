"""Sources whose event times are those of arrival.

These tests catch an arrival time that is not that of the record or the instant, and a source that is not a value.
"""

from __future__ import annotations

from datetime import timedelta

import flowalg_reference as reference
import pytest
from flowalg_laws.kit.readings import START, Reading

from flowalg import BoundedOutOfOrderness, Source, Timeline, from_json, to_json
from flowalg.analysis.features import Feature, features_of
from flowalg.data import INGRESS_TIME
from flowalg.errors import ArgumentError
from flowalg.runs import OutputElement

MINUTE = timedelta(minutes=1)
ARRIVALS = Source("arrivals", Reading, event_time=INGRESS_TIME)
LATE = [Reading("a", 1, START, START + 3 * MINUTE), Reading("b", 2, START, START + 4 * MINUTE)]


def minutes_of(elements: tuple[OutputElement[Reading], ...]) -> list[float]:
    """Returns the event times of elements in minutes."""
    return [(element.event_time.datetime - START) / MINUTE for element in elements]


def test_a_record_arrives_at_its_own_processing_time() -> None:
    """Records that are observed together have the event times of their own arrivals, and advance a watermark."""
    timeline = Timeline.micro_batches(
        ARRIVALS,
        [LATE],
        processing_time=lambda reading: reading.seen,
        watermark=BoundedOutOfOrderness(timedelta(0)),
        ends=False,
    )
    assert minutes_of(reference.run(ARRIVALS, {ARRIVALS: timeline}).elements) == [3, 4]
    assert timeline.watermark.datetime == START + 4 * MINUTE


def test_records_without_processing_times_arrive_at_their_instant() -> None:
    """In a timeline that is written by hand, and in a batch, the instant has the only processing time."""
    timeline = Timeline[Reading]().at(START + 9 * MINUTE, *LATE).end(START + 10 * MINUTE)
    assert minutes_of(reference.run(ARRIVALS, {ARRIVALS: timeline}).elements) == [9, 9]
    whole = reference.run_batch(ARRIVALS, {ARRIVALS: LATE}, time=START + 7 * MINUTE)
    assert minutes_of(whole.elements) == [7, 7]


def test_the_source_is_a_value() -> None:
    """It is equal to another such source, not to one with a function, and passes through JSON."""
    assert Source("arrivals", Reading, event_time=INGRESS_TIME) == ARRIVALS
    assert Source("arrivals", Reading, event_time=lambda reading: reading.at) != ARRIVALS
    assert from_json(to_json(ARRIVALS), Source[Reading]) == ARRIVALS
    assert Feature.INGRESS_TIMES in features_of(ARRIVALS)


def test_event_times_need_arrivals() -> None:
    """``event_time_of`` needs the processing time; a source needs a function or ``INGRESS_TIME``."""
    seen = START + MINUTE
    assert ARRIVALS.event_time_of(LATE[0], seen) == seen
    with pytest.raises(ArgumentError, match="processing_time must be the arrival of the element"):
        ARRIVALS.event_time_of(LATE[0])
    with pytest.raises(ArgumentError, match="a function, such as lambda score: score.at, or INGRESS_TIME"):
        Source("arrivals", Reading, event_time="seen")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
