"""Compares the local engine with the reference interpreter on thousands of generated pipelines.

``python -m tests.differential.local [N]`` runs N cases, 10,000 by default, in one process per core: a batch,
or a query over a stream with one to three shards, which is stopped up to three times and starts again from its
checkpoint on disk. The last line is ``local: K of N equal``. Each run generates new cases unless ``--seed`` is given.
If any differ, it prints the shortest of these and exits with 1.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from attrs import frozen

from tests.differential.generated import Case, run_cases

if TYPE_CHECKING:
    from flowalg_laws.kit.replay import Replay
    from hypothesis.strategies import SearchStrategy

    from flowalg import Interpreter, PCollection


@frozen
class LocalCase:
    """A pipeline on the local engine: a batch, or a query."""

    interpreter: Interpreter
    pipeline: PCollection[object]
    replay: Replay

    def difference(self) -> str:
        """Returns how the panes, in order, and the drops differ from those of the reference."""
        from flowalg_laws.conformance.generated import run_failure
        from flowalg_laws.conformance.judges import Engine

        engine = Engine(self.interpreter.capabilities, ordered=True, drops=True)
        return run_failure(self.interpreter, self.pipeline, self.replay, engine)

    def __str__(self) -> str:
        from flowalg_laws.conformance.generated import describe_run

        return f"{self.interpreter}\n{describe_run(self.pipeline, self.replay)}"


def cases() -> SearchStrategy[Case]:
    """Returns generated batches and queries; imported in the process that runs them."""
    from flowalg_laws.conformance.generated import replays
    from flowalg_laws.strategies.pipelines import pipelines
    from flowalg_polars import PolarsBatch
    from hypothesis import strategies as st

    from tests.support.local_queries import LocalQueries

    shards = st.integers(1, 3)
    stops, resharded = st.lists(st.integers(1, 3), max_size=3), st.lists(shards, max_size=3)
    queries = st.builds(LocalQueries, shards, stops, resharded)
    batch, stream = PolarsBatch().capabilities, LocalQueries().capabilities
    return st.one_of(
        st.builds(LocalCase, st.just(PolarsBatch()), pipelines(batch), replays(batch)),
        st.builds(LocalCase, queries, pipelines(stream), replays(stream)),
    )


if __name__ == "__main__":
    sys.exit(run_cases("local", "tests.differential.local", __doc__, cases, sys.argv[1:]))
