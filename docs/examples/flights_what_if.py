"""How long should the watermark wait for a year of New York's flights? *What if*, with real delays.

Event time is when a flight was scheduled to leave, processing time when it left; the airport is the key, and windows
are hours. The table says what each watermark policy and allowed lateness would have come to, and the words below it
which one to take. The picture goes to ``build/what-if``, or to the folder that is given.
"""

from __future__ import annotations

import sys
from datetime import timedelta
from os.path import relpath
from pathlib import Path
from typing import Final

from flowalg_tools.flights.data import clean, read_flights
from flowalg_tools.what_if import Records, WhatIf, what_if

from flowalg import FixedWindows

HOUR: Final = timedelta(hours=1)
MINUTE: Final = timedelta(minutes=1)

FOLDER: Final = Path(__file__).resolve().parents[2] / "build" / "what-if"


def flights_of_the_year() -> Records:
    """The departures of 2013: scheduled, actual, and from which airport."""
    departed = clean(read_flights()).departed
    return Records.of(departed["scheduled"], departed["actual"], keys=departed["origin"])


def tried(records: Records) -> WhatIf:
    """A grid that is read off the delays, with a micro-batch every minute, whether a flight left in it or not."""
    return what_if(records, FixedWindows(HOUR), every=MINUTE, tick=MINUTE)


def main(folder: Path = FOLDER) -> int:
    """Print the table and the recommendation, and draw the picture."""
    records = flights_of_the_year()
    found = tried(records)
    print(f"{len(records):,} departures of 2013 in hourly windows of three airports\n")
    print(found.table(), found.recommendation(), sep="\n\n")
    folder.mkdir(parents=True, exist_ok=True)
    for suffix in (".png", ".svg"):
        found.draw(
            folder / f"flights-what-if{suffix}",
            title="Departures from New York in 2013, in hourly windows by airport",
        )
    print(f"\nThe picture is in {relpath(folder)}.")
    return 0


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:2])))
