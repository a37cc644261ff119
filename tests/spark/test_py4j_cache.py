"""What flowalg changes in PySpark while it compiles, to call the JVM less, and puts back."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from flowalg_spark import batch
from flowalg_spark.encoding.layout import cache_columns, col
from flowalg_spark.lowering.py4j_cache import looked_up_once, unrecorded
from pyspark import SparkContext
from pyspark.errors import utils
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from flowalg import Sum
from tests.support.scores import POINTS, SCORES

SWITCH = "_enable_debugging_cache"


@pytest.mark.parametrize("before", [None, True, False])
def test_the_switch_is_put_back(monkeypatch: pytest.MonkeyPatch, before: bool | None) -> None:
    """Also when compiling fails. A PySpark that renames it is noticed here, where compiling only becomes slower."""
    assert hasattr(utils, SWITCH)
    monkeypatch.setattr(utils, SWITCH, before)
    with pytest.raises(ZeroDivisionError), unrecorded():
        assert 1 // len(SWITCH[:0])
    assert getattr(utils, SWITCH) is before
    with unrecorded():
        assert not utils.is_debugging_enabled()
    assert getattr(utils, SWITCH) is before


def test_a_pyspark_without_the_switch_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is invented there."""
    monkeypatch.delattr(utils, SWITCH)
    with unrecorded():
        assert not hasattr(utils, SWITCH)
    assert not hasattr(utils, SWITCH)


def test_compiling_leaves_the_switch_as_it_is(spark: SparkSession) -> None:
    """So the errors of a user's own columns go on saying where these were made."""
    before = utils.is_debugging_enabled()
    frame = spark.createDataFrame([], "team string, points long, at timestamp")
    batch.compile(POINTS.combine_per_key(Sum()), {SCORES: frame})
    assert utils.is_debugging_enabled() is before


def test_a_column_is_made_once_where_that_is_remembered(spark: SparkSession) -> None:
    """And each time elsewhere."""
    del spark
    with cache_columns():
        assert col("a.b") is col("a.b")
    assert col("a.b") is not col("a.b")


def _calls(work: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> int:
    """How often some work calls the JVM, objects that are given back left out."""
    made: list[str] = []
    assert SparkContext._gateway is not None
    client = type(SparkContext._gateway._gateway_client)
    sent: Callable[..., object] = client.send_command

    def counted(self: object, command: str, *rest: object) -> object:
        if not command.startswith("m"):
            made.append(command)
        return sent(self, command, *rest)

    with monkeypatch.context() as changed:
        changed.setattr(client, "send_command", counted)
        work()
    return len(made)


def test_a_function_of_spark_is_looked_up_once(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second column of a kind takes a call, and takes three where that is not remembered."""
    del spark
    with unrecorded(), looked_up_once():
        F.lit(1)
        assert _calls(lambda: F.lit(2), monkeypatch) == 1
    with unrecorded():
        assert _calls(lambda: F.lit(2), monkeypatch) == 3


def test_pyspark_finds_its_functions_as_before(spark: SparkSession) -> None:
    """Also when compiling fails, and when something compiles while something else does."""
    del spark
    jvm = SparkContext._jvm
    before = dict(vars(jvm))
    with looked_up_once():
        with pytest.raises(ZeroDivisionError), looked_up_once():
            assert 1 // len(SWITCH[:0])
        assert "functions" in vars(jvm)
    assert vars(jvm) == before


def test_a_small_pipeline_takes_few_calls(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some 240: calls of the JVM are most of the time that compiling takes, and can be told without a clock."""
    frame = spark.createDataFrame([], "team string, points long, at timestamp")
    pipeline = POINTS.combine_per_key(Sum())
    assert _calls(lambda: batch.compile(pipeline, {SCORES: frame}), monkeypatch) < 300
