"""Compares chains of two and three groupings with their recomputation in plain Python, on the reference and the step.

``python -m tests.differential.chains [N]`` runs N chains, 10,000 by default, in one process per core. The last line is
``chains: K of N converge``. Each run generates new chains unless ``--seed`` is given. If any differ, it prints the
shortest of these and exits with 1.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tests.differential.generated import Case, run_cases

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


def cases() -> SearchStrategy[Case]:
    """Returns generated chains; imported in the process that runs them."""
    from tests.support.chains import chains

    return chains()


if __name__ == "__main__":
    sys.exit(run_cases("chains", "tests.differential.chains", __doc__, cases, sys.argv[1:], verb="converge"))
