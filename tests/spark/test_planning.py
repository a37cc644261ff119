"""What a changed pipeline can continue from a checkpoint of Spark, against what a query does that starts from it.

These tests catch a plan that compares the state of another stage than the one that Spark gives it to, and one that
says yes where the query fails.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import pytest
from attrs import evolve, frozen
from flowalg_laws.kit.shop import BATCHES, POLICY, SALES, Sale
from flowalg_shard.state.compatibility import Outcome
from flowalg_spark import PaneFrame, plan, streaming
from flowalg_spark.frames.failures import raise_causes
from flowalg_spark.state.open_state import read_heads
from flowalg_spark.streaming.interpreter import run_to_end
from flowalg_spark.streaming.shards import shard_ids
from pyspark.sql import SparkSession

from flowalg import KV, Computation, Count, FixedWindows, FlowalgError, PCollection, Sum, flatten
from flowalg.computations import Clocks, Observed, Transition
from flowalg.errors import CheckpointError
from flowalg.windows import AllowedLateness
from tests.support.depth import a_few
from tests.support.spark_replay import stream_of, write_batches

MINUTE = timedelta(minutes=1)
AMOUNTS = SALES.key_by(lambda sale: sale.shop).map_values(lambda sale: sale.amount)
Outputs = Mapping[str, PCollection[object]]


def totals(lateness: AllowedLateness = MINUTE, minutes: int = 5) -> PCollection[KV[str, int]]:
    """Returns the totals of shops."""
    return AMOUNTS.window(FixedWindows(minutes * MINUTE), allowed_lateness=lateness).combine_per_key(Sum())


COUNTS = AMOUNTS.window(FixedWindows(5 * MINUTE), allowed_lateness=MINUTE).combine_per_key(Count())
CHAIN = totals().map(lambda pair: KV(pair.value, pair.key)).combine_per_key(Count())
FIRSTS = AMOUNTS.deduplicate(by=lambda pair: pair.key, within=MINUTE)
SIDES = (
    FIRSTS.with_side(totals().as_map())
    .map(lambda pair: KV(pair[0].key, pair[0].value))
    .window(FixedWindows(10 * MINUTE), allowed_lateness=MINUTE)
    .combine_per_key(Count())
)
UNION = (
    flatten(totals(), COUNTS)
    .window(FixedWindows(10 * MINUTE), allowed_lateness=MINUTE)
    .combine_per_key(Sum())
)


def compiled(spark: SparkSession, pipeline: PCollection[object] | Outputs, folder: Path) -> PaneFrame[object]:
    """Returns the frame of a pipeline, or of outputs, over the sales in a folder."""
    inputs = {SALES: stream_of(spark, folder, POLICY, ends=False)}
    if isinstance(pipeline, PCollection):
        return streaming.compile(pipeline, inputs, shards=2)
    return streaming.compile(pipeline, inputs, shards=2)


@pytest.mark.parametrize(
    "pipeline",
    a_few([CHAIN, SIDES, UNION, {"totals": totals(), "chain": CHAIN, "counts": COUNTS}], 1),
    ids=["chain", "side input", "union", "outputs"],
)
def test_stages_have_the_numbers_that_spark_gives_them(
    spark: SparkSession, tmp_path: Path, pipeline: PCollection[object] | Outputs
) -> None:
    """The plan of an unchanged pipeline compares each stage with its own state, and all continue."""
    write_batches(tmp_path / "in", Sale, BATCHES[:1], ends=False)
    run_to_end(compiled(spark, pipeline, tmp_path / "in"), tmp_path / "out", tmp_path / "checkpoint")
    change_plan = plan(spark, pipeline, tmp_path / "checkpoint", shards=2)
    assert change_plan.accepted
    assert {finding.outcome for finding in change_plan.stages} == {Outcome.CONTINUES}
    stored = [
        read_heads(spark, tmp_path / "checkpoint", number)[0] for number in range(len(change_plan.stages))
    ]
    assert [head.stage.label for head in stored] == [finding.stage for finding in change_plan.stages]


@pytest.mark.thorough
def test_a_query_starts_if_and_only_if_its_plan_is_accepted(spark: SparkSession, tmp_path: Path) -> None:
    """A changed pipeline that the plan does not accept fails in its first micro-batch, and one that it accepts runs."""
    folder, checkpoint = tmp_path / "in", tmp_path / "checkpoint"
    write_batches(folder, Sale, BATCHES[:1], ends=False)
    run_to_end(compiled(spark, totals(), folder), tmp_path / "out", checkpoint)
    write_batches(folder, Sale, BATCHES[1:2], ends=False, first=1)
    for pipeline, why in (
        (COUNTS, "the combiners were"),
        (totals(timedelta(0)), "allowed lateness was"),
        (totals(minutes=6), "windows was"),
    ):
        change_plan = plan(spark, pipeline, checkpoint)
        assert not change_plan.accepted
        assert why in str(change_plan)
        with pytest.raises(FlowalgError, match=why), raise_causes():
            run_to_end(compiled(spark, pipeline, folder), tmp_path / "out", checkpoint)
    assert "has 1 stages, and the pipeline 2" in str(plan(spark, CHAIN, checkpoint))
    assert "with 2 shards, and the query now has 3" in str(plan(spark, totals(), checkpoint, shards=3))
    longer = totals(5 * MINUTE)
    assert [finding.outcome for finding in plan(spark, longer, checkpoint).stages] == [Outcome.CHANGES]
    run_to_end(compiled(spark, longer, folder), tmp_path / "out", checkpoint)


@pytest.mark.thorough
def test_the_shards_of_a_checkpoint_do_not_depend_on_the_session(spark: SparkSession, tmp_path: Path) -> None:
    """A query fails if another number of shuffle partitions gives its shards other ids, which hides their state."""
    folder, checkpoint = tmp_path / "in", tmp_path / "checkpoint"
    write_batches(folder, Sale, BATCHES[:1], ends=False)
    run_to_end(compiled(spark, totals(), folder), tmp_path / "out", checkpoint)
    write_batches(folder, Sale, BATCHES[1:2], ends=False, first=1)
    partitions = spark.conf.get("spark.sql.shuffle.partitions")
    assert partitions is not None
    ids = shard_ids(spark, 2)
    try:
        for number in range(3, 40):
            spark.conf.set("spark.sql.shuffle.partitions", number)
            if shard_ids(spark, 2) != ids:
                break
        assert "its shards were" in str(plan(spark, totals(), checkpoint, shards=2))
        with pytest.raises(FlowalgError, match="its shards were"), raise_causes():
            run_to_end(compiled(spark, totals(), folder), tmp_path / "out", checkpoint)
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", partitions)
    run_to_end(compiled(spark, totals(), folder), tmp_path / "out", checkpoint)


def test_a_folder_that_is_no_checkpoint_has_no_plan(spark: SparkSession, tmp_path: Path) -> None:
    """A folder without a state raises an error with its path."""
    with pytest.raises(CheckpointError, match=re.escape(str(tmp_path / "missing"))):
        plan(spark, totals(), tmp_path / "missing")


@frozen
class Total:
    """The total of a shop."""

    amount: int


class Changed:
    """The class after a change."""

    @frozen
    class Total:
        """The total of a shop, and how many sales it is of."""

        amount: int
        sales: int


AnyTotal = Total | Changed.Total


def kept_in(first: AnyTotal) -> PCollection[object]:
    """Returns a computation whose state is a total."""

    def on_element(
        state: AnyTotal, observed: Observed[str, int], clocks: Clocks
    ) -> Transition[AnyTotal, int]:
        return Transition(evolve(state, amount=state.amount + observed.value), emit=(state.amount,))

    return AMOUNTS.process(Computation(initial=first, on_element=on_element, result=int, name="totals"))


def test_a_record_class_that_does_not_evolve_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    """A plan with another structure of a type is not accepted, and the start raises: both show both structures."""
    folder, checkpoint = tmp_path / "in", tmp_path / "checkpoint"
    write_batches(folder, Sale, BATCHES[:1], ends=False)
    run_to_end(compiled(spark, kept_in(Total(0)), folder), tmp_path / "out", checkpoint)
    write_batches(folder, Sale, BATCHES[1:2], ends=False, first=1)
    why = "Total was Total(amount: int) and is now Total(amount: int, sales: int): sales is new and has no default"
    changed = kept_in(Changed.Total(0, 0))
    assert why in str(plan(spark, changed, checkpoint))
    with pytest.raises(FlowalgError, match=re.escape(why)), raise_causes():
        run_to_end(compiled(spark, changed, folder), tmp_path / "out", checkpoint)
