"""Faults: ``python -m tests.faults CHECK``; ``make`` has a target for each check. A number is that of faults."""

from __future__ import annotations

import sys
from typing import Final

from tests.support.commands import run_check

CHECKS: Final = {
    "spark": "tests.faults.spark:check",
    "local": "tests.faults.local:check",
    "crashes": "tests.faults.crashes:check",
    "stores": "tests.faults.stores:check",
    "kafka": "tests.faults.kafka.check:check",
    "cluster": "tests.faults.cluster.check:check",
    "lakehouse": "tests.faults.lakehouse.check:check",
    "soak": "tests.faults.soak.check:check",
}

if __name__ == "__main__":
    sys.exit(run_check("tests.faults", CHECKS, sys.argv[1:]))
