"""Delays at New York's three airports in 2013: what ``flowalg demo`` runs, and the names that it is made of.

The pipeline is written in ``flowalg_tools/flights/pipeline.py``, and how each interpreter runs it in ``demo.py``
beside it: they are part of the package, so that they run where it is installed.
"""

from __future__ import annotations

import sys

from flowalg_tools.flights import STORM, Departure, HourStats, departures, hourly, scheduled, storm
from flowalg_tools.flights.demo import run_demo

__all__ = ["STORM", "Departure", "HourStats", "departures", "hourly", "scheduled", "storm"]

if __name__ == "__main__":
    sys.exit(0 if run_demo() else 1)
