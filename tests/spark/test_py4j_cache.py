"""The changes to PySpark during compilation, for fewer calls of the JVM, are reverted afterwards."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

import pytest
from flowalg_spark import batch
from flowalg_spark.encoding.columns import cache_columns, col
from flowalg_spark.lowering.py4j_cache import cache_functions, skip_source_locations
from pyspark import SparkContext
from pyspark.errors import utils
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from flowalg import Sum
from tests.support.scores import POINTS, SCORES

SWITCH = "_enable_debugging_cache"


@pytest.mark.parametrize("before", [None, True, False])
def test_the_debugging_switch_is_restored(monkeypatch: pytest.MonkeyPatch, before: bool | None) -> None:
    """The switch is restored after success and failure. This test fails if a version of PySpark renames the switch."""
    assert hasattr(utils, SWITCH)
    monkeypatch.setattr(utils, SWITCH, before)
    with pytest.raises(ZeroDivisionError), skip_source_locations():
        assert 1 // len(SWITCH[:0])
    assert getattr(utils, SWITCH) is before
    with skip_source_locations():
        assert not utils.is_debugging_enabled()
    assert getattr(utils, SWITCH) is before


@pytest.mark.parametrize("before", [None, True])
def test_the_switch_is_restored_after_compilations_at_once(
    monkeypatch: pytest.MonkeyPatch, before: bool | None
) -> None:
    """Of two threads that compile, the first may end first: the switch is that of before after the last one."""
    monkeypatch.setattr(utils, SWITCH, before)
    first, second = ExitStack(), ExitStack()
    first.enter_context(skip_source_locations())
    second.enter_context(skip_source_locations())
    first.close()
    assert not utils.is_debugging_enabled()
    second.close()
    assert getattr(utils, SWITCH) is before


def test_a_pyspark_without_the_switch_is_not_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The attribute is not created if PySpark lacks it."""
    monkeypatch.delattr(utils, SWITCH)
    with skip_source_locations():
        assert not hasattr(utils, SWITCH)
    assert not hasattr(utils, SWITCH)


def test_the_switch_is_unchanged_after_compilation(spark: SparkSession) -> None:
    """Errors of a user's columns then still have the line that created them."""
    before = utils.is_debugging_enabled()
    frame = spark.createDataFrame([], "team string, points long, at timestamp")
    batch.compile(POINTS.combine_per_key(Sum()), {SCORES: frame})
    assert utils.is_debugging_enabled() is before


def test_a_column_is_created_once_within_the_cache(spark: SparkSession) -> None:
    """Within ``cache_columns`` equal names are one object; outside they are not."""
    del spark
    with cache_columns():
        assert col("a.b") is col("a.b")
    assert col("a.b") is not col("a.b")


def _calls(work: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> int:
    """Returns the number of calls of the JVM, without those that release objects."""
    calls: list[str] = []
    assert SparkContext._gateway is not None
    client = type(SparkContext._gateway._gateway_client)
    send_command: Callable[..., object] = client.send_command

    def count(self: object, command: str, *rest: object) -> object:
        if not command.startswith("m"):
            calls.append(command)
        return send_command(self, command, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(client, "send_command", count)
        work()
    return len(calls)


def test_a_function_of_spark_is_looked_up_once(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second call of a function is one call of the JVM with the cache, and three without."""
    del spark
    with skip_source_locations(), cache_functions():
        F.lit(1)
        assert _calls(lambda: F.lit(2), monkeypatch) == 1
    with skip_source_locations():
        assert _calls(lambda: F.lit(2), monkeypatch) == 3


def test_the_function_cache_is_removed(spark: SparkSession) -> None:
    """It is removed after a failure, and after the outer one of nested compilations."""
    del spark
    jvm = SparkContext._jvm
    before = dict(vars(jvm))
    with cache_functions():
        with pytest.raises(ZeroDivisionError), cache_functions():
            assert 1 // len(SWITCH[:0])
        assert "functions" in vars(jvm)
    assert vars(jvm) == before


def test_a_small_pipeline_takes_few_calls(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compilation takes about 240 calls of the JVM, which are most of its time and do not depend on the machine."""
    frame = spark.createDataFrame([], "team string, points long, at timestamp")
    pipeline = POINTS.combine_per_key(Sum())
    assert _calls(lambda: batch.compile(pipeline, {SCORES: frame}), monkeypatch) < 300
