"""Records for the tables of types."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from attrs import frozen


@frozen
class Flight:
    """A record with a field of each kind that the tables need."""

    origin: str
    seats: int
    delay: float
    price: Decimal
    full: bool
    at: datetime


@frozen
class Stats:
    """A record of named results."""

    departures: int
    mean_delay: float
