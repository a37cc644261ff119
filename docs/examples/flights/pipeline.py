"""The pipeline over New York's departures, and its timelines.

Event time is the scheduled departure and processing time the actual departure, so lateness is real: a flight that
leaves five hours late is observed five hours after its scheduled time. ``hourly`` computes the number of departures and
their mean delay for each airport and scheduled hour.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import cache
from typing import Final

import pyarrow as pa
from attrs import frozen

from flights.data import NEW_YORK, CleanFlights, clean, read_flights
from flowalg import BoundedOutOfOrderness, Count, FixedWindows, Mean, Source, Timeline


@frozen
class Departure:
    """A departure: its airport, its delay in minutes (negative if early), and both times."""

    origin: str
    delay: int
    scheduled: datetime
    actual: datetime


@frozen
class HourStats:
    """The number of departures of an airport and scheduled hour, and their mean delay."""

    departures: int
    mean_delay: float


departures = Source("departures", Departure, event_time=lambda d: d.scheduled)

HOUR: Final = timedelta(hours=1)

# Nine of ten flights leave within 49 minutes of their schedule, so most windows are complete after an hour of
# disorder. 99 of 100 leave within 191 minutes, so two more hours of lateness lose only the slowest.
WATERMARK: Final = BoundedOutOfOrderness(HOUR)
LATENESS: Final = timedelta(hours=2)

hourly = (
    departures.key_by(lambda d: d.origin)
    .window(FixedWindows(HOUR), allowed_lateness=LATENESS)
    .combine_per_key(Count(), Mean.of(lambda d: d.delay), into=HourStats)
)

STORM: Final = datetime(2013, 3, 8, tzinfo=NEW_YORK)
"""The day with the year's longest delays: snow."""


@cache
def flights_of_2013() -> CleanFlights:
    """All flights of the year, read once."""
    return clean(read_flights())


def select_departures(start: datetime, end: datetime, *, origin: str | None = None) -> list[Departure]:
    """The departures scheduled from ``start`` to before ``end``, in the order of their actual departure.

    With ``origin`` only those of one airport: EWR, JFK or LGA.
    """
    records = records_of(flights_of_2013().scheduled_between(start, end))
    return [record for record in records if origin in (None, record.origin)]


def storm() -> Timeline[Departure]:
    """The departures of the storm's day, observed every quarter of an hour."""
    return replay_timeline(select_departures(STORM, STORM + timedelta(days=1)), timedelta(minutes=15))


def records_of(flights: pa.Table) -> list[Departure]:
    """The records of a table of departures."""
    return [Departure(**row) for row in flights.to_pylist()]


def replay_timeline(records: list[Departure], every: timedelta) -> Timeline[Departure]:
    """The timeline of departures, with the records of each period of processing time observed together."""
    return Timeline.from_records(
        departures, records, processing_time=lambda d: d.actual, watermark=WATERMARK, every=every
    )
