"""``python -m flights [FOLDER]``, which ``make demo`` calls: a year of departures in all interpreters.

It exits with 1 if they differ. Panes and a picture are in ``FOLDER``, by default ``build/demo``.
"""

import sys
from pathlib import Path

from flights.demo import run_demo
from flowalg.errors import ArgumentError

if __name__ == "__main__":
    try:
        sys.exit(0 if run_demo(*map(Path, sys.argv[1:2])) else 1)
    except ArgumentError as error:
        sys.exit(f"error: {error}")
