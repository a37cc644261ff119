"""Delays at New York's three airports in 2013: the example that ``flowalg demo`` runs, and its names.

The pipeline is in ``flowalg_tools/flights/pipeline.py``, and the code that runs it in each interpreter in
``flowalg_tools/flights/demo.py``. They are part of the package, so the demo runs wherever it is installed.
"""

from __future__ import annotations

import sys

from flowalg_tools.flights.demo import run_demo

if __name__ == "__main__":
    sys.exit(0 if run_demo() else 1)
