"""Numbers have the same meaning on Spark: decimals, sums of floats and zeros, in batches and streams.

These tests catch a result whose text, last digit or range is not that of plain Python.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Final

import pytest
from flowalg_spark import SparkBatch, SparkStreaming
from flowalg_spark.encoding.columns import col, select
from flowalg_spark.encoding.json_columns import value_json
from flowalg_spark.encoding.schema import spark_type
from flowalg_spark.session import replace_settings
from pyspark.sql import SparkSession
from pyspark.sql import types as T

from flowalg import Interpreter, Max, ToList
from flowalg.data.json_text import render_json
from flowalg.data.shapes import DECIMAL
from tests.support.amounts import AMOUNTS, DECIMALS, KEYED, LARGEST, PIPELINES, Amount, expected, results
from tests.support.depth import a_few
from tests.support.elements import bounded
from tests.support.scores import NOON

NINES: Final = "9" * 19 + "." + "9" * 18


def record(key: str, amount: str, share: float, maybe: str | None = None) -> Amount:
    """Returns a record."""
    parts = [share, -0.0] if share == 0 else [share]
    return Amount(key, Decimal(amount), share, None if maybe is None else Decimal(maybe), parts, NOON)


SOME: Final = [
    record("a", "1.50", -0.0, "0.0"),
    record("a", "-0.00", 0.0, "-0.000"),
    record("a", "1E+2", -0.0),
    record("a", "100.000", -0.0, "1E-18"),
    record("a", "0.000000000000000002", 0.0),
    record("b", "33.33", LARGEST, "2.50"),
    record("b", "66.67", LARGEST, "2.5"),
    record("b", "0.000000000000000001", -LARGEST),
    record("c", NINES, -5e-324),
    record("c", NINES, 0.0),
    record("c", f"-{NINES}", -0.0),
]


IN_BATCH: Final = (
    "mean and count",
    "variance",
    "least and greatest",
    "set",
    "by amount",
    "text",
    "mean of floats",
    "negatives",
)
ON_STREAM: Final = ("sum", "mean of floats")


@pytest.mark.parametrize("names", a_few([(IN_BATCH,), (ON_STREAM,)], 1), ids=["batch", "stream"])
def test_numbers_are_those_of_plain_python(spark: SparkSession, names: tuple[str, ...]) -> None:
    """Each result has the digits and the text that plain Python computes with enough precision."""
    engine: Interpreter = SparkBatch(spark) if names == IN_BATCH else SparkStreaming(spark, shards=1)
    wanted = {name: texts for name, texts in expected(SOME).items() if name in names}
    outputs = {name: PIPELINES[name] for name in wanted}
    texts = results(engine.run(outputs, {AMOUNTS: bounded(*SOME)}))
    assert texts == wanted


@pytest.mark.parametrize("ansi", [True, False])
def test_the_text_of_a_decimal_has_no_exponent(spark: SparkSession, ansi: bool) -> None:
    """In the JSON of drops and bad records, a Decimal has its canonical text, also if Spark's ANSI mode is off."""
    texts = ["0", "1", "-1", "100", "0.000000000000000001", "-0.0000000001", "0.00000001", "1234567.5", NINES]
    texts += [f"-{NINES}"]
    schema = T.StructType([T.StructField("number", spark_type(DECIMAL))])
    numbers = spark.createDataFrame([(Decimal(text),) for text in texts], schema)
    with replace_settings(spark, {"spark.sql.ansi.enabled": str(ansi).lower()}):
        json_texts = [row[0] for row in select(numbers, value_json(col("number"), DECIMAL)).collect()]
    assert [json.loads(text) for text in json_texts] == texts
    assert json_texts == [render_json(Decimal(text)) for text in texts]


def third(amount: Amount) -> Decimal:
    """Returns more places than a Decimal may have."""
    return amount.amount / 3


def test_a_decimal_that_does_not_fit_is_an_error(spark: SparkSession) -> None:
    """A record and a function's result with a Decimal of too many digits are errors that name them."""
    engine = SparkBatch(spark)
    with pytest.raises(
        Exception, match=r"element\.amount must be a finite Decimal with at most 20 digits before"
    ):
        engine.run(DECIMALS.combine_per_key(Max[Decimal]()), {AMOUNTS: bounded(record("a", "1E+20", 0.0))})
    with pytest.raises(
        Exception, match=r"the result of map_values\(third at .* 18 after the point; got Decimal"
    ):
        engine.run(
            KEYED.map_values(third).combine_per_key(ToList[Decimal]()),
            {AMOUNTS: bounded(record("a", "1", 0.0))},
        )
