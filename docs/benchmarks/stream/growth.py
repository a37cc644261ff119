"""The cost of a batch with ten thousand, a million or five million live windows that it does not affect."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from attrs import frozen

from docs.benchmarks.stream.data import KEYS
from docs.benchmarks.stream.pipelines import AT_ALL_TIMES, VALUES
from docs.benchmarks.stream.queries import Rival, compile_rival
from flowalg import AtCount, FixedWindows, GlobalWindows, Repeat, Sum

OPEN: Final = (10_000, 1_000_000, 5_000_000)
ROWS: Final = 100_000
"""The number of rows of a batch, with ten thousand keys."""

HOUR: Final = timedelta(hours=1)


@frozen
class Growth:
    """A way to keep many windows live; the keys of a batch are the first ten thousand."""

    name: str
    rival: Rival
    first_key: int


GROWTHS: Final = (
    Growth(
        "growth: fixed windows that are open",
        compile_rival(
            VALUES.window(FixedWindows(HOUR), trigger=AT_ALL_TIMES, allowed_lateness=HOUR).combine_per_key(
                Sum()
            )
        ),
        KEYS,
    ),
    Growth(
        "growth: keys of the global window",
        compile_rival(VALUES.window(GlobalWindows(), trigger=Repeat(AtCount(1))).combine_per_key(Sum())),
        0,
    ),
)
