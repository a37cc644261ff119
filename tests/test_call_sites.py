"""What flowalg switches off in PySpark while it compiles, and puts back."""

from __future__ import annotations

import pytest
from flowalg_spark import batch
from flowalg_spark.call_sites import unrecorded
from flowalg_spark.layout import named, remembered
from pyspark.errors import utils
from pyspark.sql import SparkSession

from flowalg import Sum
from tests.scores import POINTS, SCORES

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
    with remembered():
        assert named("a.b") is named("a.b")
    assert named("a.b") is not named("a.b")
