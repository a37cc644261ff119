"""``python -m zeitgeist``, which ``make zeitgeist`` calls: all engines find the same anomalies."""

import sys

from zeitgeist.running import run_zeitgeist

if __name__ == "__main__":
    sys.exit(0 if run_zeitgeist() else 1)
