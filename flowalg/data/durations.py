"""Durations in words, for descriptions and messages."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

_UNITS: Final = (
    ("day", 86_400_000_000),
    ("hour", 3_600_000_000),
    ("minute", 60_000_000),
    ("second", 1_000_000),
)


def duration_in_words(duration: timedelta) -> str:
    """Formats a duration in the largest unit that divides it: ``minute``, ``2 minutes``, ``90 seconds``."""
    micros = duration // timedelta(microseconds=1)
    for name, size in _UNITS:
        if micros and micros % size == 0:
            return name if micros == size else f"{micros // size} {name}s"
    return f"{micros / 1_000_000:g} seconds"


def length_in_words(duration: timedelta) -> str:
    """Formats a duration with an article: ``a minute``, ``an hour``, ``2 minutes``."""
    amount = duration_in_words(duration)
    if amount[0].isdigit():
        return amount
    return f"{'an' if amount == 'hour' else 'a'} {amount}"
