"""Compares the shard step with the reference interpreter on thousands of generated (pipeline, timeline) pairs.

``python -m tests.differential.step [N]`` runs N pairs, 10,000 by default, in one process per core. The
last line is ``step: K of N equal``. Each run generates new pairs unless ``--seed`` is given. If
any differ, it prints the shortest of these and exits with 1.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tests.differential.generated import Case, run_cases

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


def cases() -> SearchStrategy[Case]:
    """Returns generated pairs; imported in the process that runs them."""
    from tests.support.step_pairs import correction_pairs, pairs

    return pairs() | correction_pairs()


if __name__ == "__main__":
    sys.exit(run_cases("step", "tests.differential.step", __doc__, cases, sys.argv[1:]))
