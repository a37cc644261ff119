"""The records that the tables of types are about."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from attrs import frozen


@frozen
class Flight:
    """A record with one field of each kind that the tables need."""

    origin: str
    seats: int
    delay: float
    price: Decimal
    full: bool
    at: datetime


@frozen
class Stats:
    """Named results."""

    departures: int
    mean_delay: float
