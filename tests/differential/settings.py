"""What is compared: generated cases, and the engines that run them, for as long as the engines can."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from attrs import frozen
from flowalg_polars import PolarsBatch
from hypothesis import strategies as st

from flowalg import Interpreter
from tests.differential import evolution
from tests.differential.case import CORPUS, Case, Compared, cases, kept_cases
from tests.differential.comparing import Comparer, Comparison, Share
from tests.differential.evolution import Changed
from tests.support.chains import Chain, chains
from tests.support.local_queries import LocalQueries
from tests.support.step_pairs import Pair, correction_pairs, pairs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def chains_against_python(stack: ExitStack) -> Comparer[Chain]:
    """Returns chains of groupings on the reference and the step, which plain Python recomputes."""
    return Comparer(chains(), Chain.difference)


def step_against_reference(stack: ExitStack) -> Comparer[Pair]:
    """Returns pipelines with timelines on the step."""
    return Comparer(pairs() | correction_pairs(), Pair.difference)


@frozen
class LocalCase:
    """A case on the local engine: as a batch, or as a query."""

    interpreter: Interpreter
    case: Case

    def difference(self) -> str:
        """Returns how the panes, in order, and the drops differ from those of the reference."""
        return self.case.difference([Compared(str(self.interpreter), self.interpreter, ordered=True)])

    def __str__(self) -> str:
        return str(self.case)


def local_against_reference(stack: ExitStack) -> Comparer[LocalCase]:
    """Returns batches, and queries of one to three shards that stop up to three times, on the local engine."""
    shards = st.integers(1, 3)
    stops, resharded = st.lists(st.integers(1, 3), max_size=3), st.lists(shards, max_size=3)
    batches, queries = st.just(PolarsBatch()), st.builds(LocalQueries, shards, stops, resharded)
    generated = st.one_of(
        st.builds(LocalCase, batches, cases(PolarsBatch().capabilities)),
        st.builds(LocalCase, queries, cases(LocalQueries().capabilities)),
    )
    return Comparer(generated, LocalCase.difference)


def local_engines() -> list[Compared]:
    """Returns the local engine: batches, and streams with stops and another shard count after each."""
    return [
        Compared("the local engine, batch", PolarsBatch(), ordered=True),
        Compared("the local engine, streaming", LocalQueries(2, (1, 2), (3, 1)), ordered=True),
    ]


def engines_on(session: SparkSession) -> list[Compared]:
    """Returns the engines on a session of Spark."""
    from flowalg_spark import SparkBatch

    from tests.support.spark_replay import ShardsInTurn

    return [
        Compared("Spark batch", SparkBatch(session), ordered=True),
        Compared("Spark streaming", ShardsInTurn(session, 4), ordered=False),
    ]


def comparer_of(engines: list[Compared], corpus: Path = CORPUS) -> Comparer[Case]:
    """Returns cases of all features on some engines; those that were kept come first."""
    return Comparer(cases(), lambda case: case.difference(engines), kept_cases(corpus))


def all_on_local(stack: ExitStack) -> Comparer[Case]:
    """Returns all cases on the local engine."""
    return comparer_of(local_engines())


def all_on_spark(stack: ExitStack) -> Comparer[Case]:
    """Returns all cases on Spark, on a session of their own."""
    from flowalg_spark import local_session

    session = local_session("agree", log=Path(stack.enter_context(TemporaryDirectory())) / "spark.log")
    stack.callback(session.stop)
    return comparer_of(engines_on(session))


def changes_of_pipelines(stack: ExitStack) -> Comparer[Changed]:
    """Returns changes of pipelines between two starts of a query of the local engine."""
    return evolution.comparer()


SETTINGS: Final[Mapping[str, Callable[[ExitStack], Comparer[Any]]]] = {
    "chains": chains_against_python,
    "step": step_against_reference,
    "local": local_against_reference,
    "evolution": changes_of_pipelines,
    "the local engine": all_on_local,
    "Spark": all_on_spark,
}


def compare(name: str, share: Share) -> Comparison:
    """Compares the cases of a process."""
    with ExitStack() as stack:
        return share.compare(SETTINGS[name](stack), name)
