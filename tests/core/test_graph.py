"""Pipelines are graphs: each node is visited once, however many nodes read it.

The tests catch a walk that treats the graph as a tree: correct on small pipelines, exponential on deep ones.
"""

from __future__ import annotations

import pickle
import sys
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from types import FrameType
from typing import Final

import flowalg_polars
import flowalg_reference
import pytest
from flowalg_tools.pictures.run_facts import run_facts
from pyspark.sql import SparkSession

import flowalg.pipeline.nodes
from flowalg import (
    FOREVER,
    KV,
    BoundedOutOfOrderness,
    FixedWindows,
    PCollection,
    PTransform,
    Source,
    Sum,
    Timeline,
    explain,
    flatten,
    from_json,
    hazards,
    to_json,
)
from flowalg.analysis.features import features_of
from flowalg.data.shapes import Shape
from flowalg.elementwise.steps import Step
from flowalg.lifting.analysis import StepAnalysis, analyse
from flowalg.pipeline.graph import Fold, fold, nodes_of
from flowalg.pipeline.nodes import Node, outline
from flowalg.pipeline.structure import last_groupings, rebuild_all, sources_of
from flowalg.plan.plan import plan_batch, plan_stream
from flowalg.transforms import Copy, Flatten, Input
from tests.support.scores import NOON, POINTS, Score, minute

DEPTH: Final = 40
TIMELINE: Final = Timeline[Score]().at(minute(1), Score("red", 5, NOON), Score("red", 2, NOON)).end(minute(5))


def time_of(score: Score) -> datetime:
    """Returns the time of a score."""
    return score.at


def pair_of(score: Score) -> KV[str, int]:
    """Returns the team with the points."""
    return KV(score.team, score.points)


def pair_value(pair: KV[str, int]) -> int:
    """Returns the value of a pair."""
    return pair.value


def is_even(pair: KV[str, int]) -> bool:
    """Returns whether a value is even."""
    return pair.value % 2 == 0


def is_odd(pair: KV[str, int]) -> bool:
    """Returns whether a value is odd."""
    return pair.value % 2 == 1


EVENTS: Final = Source("events", Score, event_time=time_of)


def diamond(depth: int) -> PCollection[KV[str, int]]:
    """Returns pairs that branch and are flattened ``depth`` times, then summed: as a tree, 2**depth branches."""
    pairs = EVENTS.map(pair_of)
    for _ in range(depth):
        pairs = flatten(pairs.filter(is_even), pairs.filter(is_odd))
    windows = FixedWindows(minute(2) - minute(0))
    return pairs.window(windows, allowed_lateness=FOREVER).combine_per_key(Sum())


def count_calls(function: Callable[[], object]) -> int:
    """Returns the number of calls of the project's Python functions that a function causes."""
    count = 0

    def profile(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event == "call" and "flowalg" in frame.f_code.co_filename

    sys.setprofile(profile)
    try:
        function()
    finally:
        sys.setprofile(None)
    return count


def test_a_fold_visits_each_node_once() -> None:
    """A fold over forty diamonds visits each of their 122 nodes once."""
    root = diamond(DEPTH).node
    visits = Counter[int]()

    def height(node: Node, results: Fold[Node, int]) -> int:
        visits[id(node)] += 1
        return 1 + max(map(results, node.inputs), default=0)

    assert fold(root, height) == 2 * DEPTH + 3
    assert visits == Counter(id(node) for node in nodes_of(root))
    assert set(visits.values()) == {1}


def test_inputs_come_before_the_nodes_that_read_them() -> None:
    """The order of ``nodes_of`` is topological: the inputs of a node come before the node."""
    visited: set[int] = set()
    for node in nodes_of(diamond(5).node):
        assert all(id(inner) in visited for inner in node.inputs)
        visited.add(id(node))


def repeated(depth: int) -> PTransform[PCollection[KV[str, int]], PCollection[KV[str, int]]]:
    """Returns a transform that copies its input and flattens the copies, many times."""
    whole = Input(KV[str, int])
    for _ in range(depth):
        whole = whole >> (Input(KV[str, int]) >> Copy() >> Flatten())
    return whole


WALKS: Final[dict[str, Callable[[int], object]]] = {
    "build": diamond,
    "shape": lambda depth: diamond(depth).shape,
    "hash": lambda depth: hash(diamond(depth)),
    "equality": lambda depth: diamond(depth) == diamond(depth),
    "outline": lambda depth: outline(diamond(depth).node),
    "explain": lambda depth: explain(diamond(depth)),
    "notebook": lambda depth: diamond(depth)._repr_html_(),
    "hazards": lambda depth: hazards(diamond(depth)),
    "features": lambda depth: features_of(diamond(depth)),
    "sources": lambda depth: sources_of(diamond(depth).node),
    "last groupings": lambda depth: last_groupings(diamond(depth).node),
    "rebuild": lambda depth: rebuild_all([diamond(depth).node], lambda node, original: node),
    "plan of a batch": lambda depth: plan_batch({"output": diamond(depth)}).readers,
    "plan of a stream": lambda depth: plan_stream({"output": diamond(depth)}, dead_letters=True).readers,
    "product": lambda depth: POINTS >> repeated(depth),
    "transform": lambda depth: POINTS.apply(PTransform.of(KV[str, int], lambda _: diamond(depth))),
    "pickle": lambda depth: pickle.loads(pickle.dumps(diamond(depth))),
    "reference": lambda depth: flowalg_reference.run(diamond(depth), {EVENTS: TIMELINE}),
    "reference, batch": lambda depth: flowalg_reference.run_batch(
        diamond(depth), {EVENTS: [Score("a", 3, NOON)]}
    ),
    "elements of a picture": lambda depth: run_facts(
        flowalg_reference.run(diamond(depth), {EVENTS: TIMELINE})
    ),
    "local batch": lambda depth: flowalg_polars.PolarsBatch().run(diamond(depth), {EVENTS: TIMELINE}),
    "local engine": lambda depth: flowalg_polars.PolarsStreaming().run(diamond(depth), {EVENTS: TIMELINE}),
}


@pytest.mark.long
@pytest.mark.parametrize("walk", WALKS.values(), ids=WALKS)
def test_work_grows_with_the_number_of_nodes(walk: Callable[[int], object]) -> None:
    """Twice as many diamonds take about twice as many calls; as a tree they would take a million times as many."""
    walk(2)  # fills the caches, which are not counted
    assert count_calls(lambda: walk(DEPTH)) < 2.5 * count_calls(lambda: walk(DEPTH // 2))


def test_functions_are_lifted_when_a_shape_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Transforms without grouping are built without lifting a function; a grouping needs the shape of its input."""
    lifted = Counter[str]()

    def count(steps: tuple[Step, ...], before: Shape | None) -> tuple[StepAnalysis, ...]:
        lifted.update(step.name for step in steps)
        return analyse(steps, before)

    monkeypatch.setattr(flowalg.pipeline.nodes, "analyse", count)
    pairs = EVENTS.map(pair_of).window(FixedWindows(minute(2) - minute(0)))
    either = flatten(pairs.filter(is_even), pairs.filter(is_odd))
    assert not lifted
    either.combine_per_key(Sum()).map(pair_value)
    assert lifted == {"map": 1, "filter": 2}


def test_two_deep_diamonds_are_equal_by_value() -> None:
    """Two pipelines that are built alike are equal, and so are their documents."""
    assert diamond(DEPTH) == diamond(DEPTH)
    assert diamond(DEPTH) != diamond(DEPTH - 1)
    assert from_json(to_json(diamond(DEPTH)), PCollection[object]) == diamond(DEPTH)


def test_an_element_takes_one_branch_of_each_diamond() -> None:
    """An element takes one branch at each of forty diamonds, so the sum counts it once."""
    (pane,) = flowalg_reference.run(diamond(DEPTH), {EVENTS: TIMELINE}).panes
    assert pane.value == 7


def test_a_shared_collection_is_explained_once() -> None:
    """A shared collection is explained in full once, with a number; later mentions show the number only."""
    pairs = POINTS.combine_per_key(Sum())
    lines = explain(flatten(pairs.filter(is_even), pairs.filter(is_odd)).group_by_key()).splitlines()
    assert [line.strip() for line in lines if "(1)" in line] == [
        "> combine_per_key(Sum): KV[str, int]  (1)",
        "+ (1)",
    ]


@pytest.mark.spark
def test_spark_runs_many_diamonds(spark: SparkSession) -> None:
    """Branches of one collection are one pass over its rows: Spark compiles forty diamonds of them, and runs twenty."""
    from flowalg_spark import batch, schema_of

    frame = spark.createDataFrame([("red", 5, NOON), ("red", 2, NOON)], schema_of(EVENTS))
    (pane,) = batch.run(diamond(DEPTH // 2), {EVENTS: frame}).panes
    assert pane.value == 7
    assert count_calls(lambda: batch.compile(diamond(DEPTH), {EVENTS: frame})) < 2.5 * count_calls(
        lambda: batch.compile(diamond(DEPTH // 2), {EVENTS: frame})
    )


@pytest.mark.spark
def test_spark_streaming_compiles_forty_diamonds(spark: SparkSession, tmp_path: Path) -> None:
    """On a stream twice as many diamonds take about twice as many calls, too."""
    from flowalg_spark import StreamInput, schema_of, streaming

    frame = spark.readStream.schema(schema_of(EVENTS)).parquet(str(tmp_path))
    events = StreamInput(frame, BoundedOutOfOrderness(minute(2) - minute(0)))

    assert count_calls(lambda: streaming.compile(diamond(DEPTH), {EVENTS: events})) < 2.5 * count_calls(
        lambda: streaming.compile(diamond(DEPTH // 2), {EVENTS: events})
    )
