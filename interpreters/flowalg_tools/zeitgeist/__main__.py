"""``python -m flowalg_tools.zeitgeist``, which ``make zeitgeist`` calls: all engines find the same anomalies."""

import sys

from flowalg_tools.zeitgeist.running import run_zeitgeist

if __name__ == "__main__":
    sys.exit(0 if run_zeitgeist() else 1)
