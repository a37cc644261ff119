"""How long should the watermark wait for a year of New York's flights? What-if analysis on real delays.

Event time is the scheduled departure, and processing time the actual departure. The airport is the key, and windows are
hours. The table shows the results of each watermark policy and allowed lateness, and a recommendation.
The picture is written to ``build/what-if``, or to the folder in the first argument.
"""

from __future__ import annotations

import sys
from datetime import timedelta
from os.path import relpath
from pathlib import Path
from typing import Final

from flights.data import clean, read_flights
from flowalg_tools.what_if import RecordedDelays, WhatIf, what_if

from flowalg import FixedWindows

HOUR: Final = timedelta(hours=1)
MINUTE: Final = timedelta(minutes=1)

FOLDER: Final = Path(__file__).resolve().parents[2] / "build" / "what-if"


def read_records() -> RecordedDelays:
    """The departures of 2013, with their scheduled and actual times and their airports."""
    departed = clean(read_flights()).departed
    return RecordedDelays.of(departed["scheduled"], departed["actual"], keys=departed["origin"])


def evaluate(records: RecordedDelays) -> WhatIf:
    """Evaluates a grid derived from the delays, with a micro-batch every minute even if no flight leaves."""
    return what_if(records, FixedWindows(HOUR), every=MINUTE, tick=MINUTE)


def main(folder: Path = FOLDER) -> int:
    """Prints the table and the recommendation, and draws the picture."""
    records = read_records()
    results = evaluate(records)
    print(f"{len(records):,} departures of 2013 in hourly windows of three airports\n")
    print(results.table(), results.recommendation(), sep="\n\n")
    folder.mkdir(parents=True, exist_ok=True)
    for suffix in (".png", ".svg"):
        results.draw(
            folder / f"flights-what-if{suffix}",
            title="Departures from New York in 2013, in hourly windows by airport",
        )
    print(f"\nThe picture is in {relpath(folder)}.")
    return 0


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:2])))
