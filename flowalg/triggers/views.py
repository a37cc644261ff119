"""What the functions of a ``CustomTrigger`` receive, besides its summary."""

from __future__ import annotations

from datetime import datetime
from enum import Enum, unique
from typing import Final

from attrs import frozen


@frozen
class Arrivals:
    """The processing times at which the first and the last element since a trigger was set have arrived."""

    first: datetime
    last: datetime


@frozen
class TriggerClocks:
    """What the ``ready`` of a ``CustomTrigger`` can depend on besides its summary.

    ``window_end`` is the end of the window; ``MAX_TIME`` for the global window.
    """

    processing_time: datetime
    watermark: datetime
    window_end: datetime
    arrivals: Arrivals


@unique
class EveryInstant(Enum):
    """The type of ``EVERY_INSTANT``."""

    EVERY_INSTANT = "every instant"

    def __repr__(self) -> str:
        return "EVERY_INSTANT"


EVERY_INSTANT: Final = EveryInstant.EVERY_INSTANT
"""A ``CustomTrigger`` with this ``due`` is evaluated in every instant."""
