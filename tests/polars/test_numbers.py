"""Numbers have one meaning on all local engines: decimals, sums of floats, zeros and durations.

These tests catch an engine whose number has another text, another last digit or another range than plain Python's.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Final

import polars as pl
import pytest
from attrs import frozen
from flowalg_polars import Cluster, PolarsBatch, PolarsStreaming
from flowalg_reference import Reference, ReferenceBatch
from hypothesis import given, settings
from hypothesis import strategies as st

from flowalg import (
    KV,
    Accumulation,
    AtCount,
    GlobalWindows,
    Interpreter,
    Max,
    Mean,
    Min,
    PCollection,
    Repeat,
    Sum,
    Timeline,
    ToList,
)
from flowalg.combiners import Variance
from flowalg.data.shapes import DECIMAL, FLOAT
from flowalg.data.values import canonicalize, conform
from flowalg.errors import ElementError, SchemaMismatchError, ValueRangeError
from tests.support.amounts import (
    AMOUNTS,
    DECIMALS,
    FLOATS,
    KEYED,
    LARGEST,
    PIPELINES,
    Amount,
    amounts,
    canonical,
    decimals,
    expected,
    results,
)
from tests.support.elements import bounded, elements_of
from tests.support.scores import NOON, minute

ENGINES = [
    Reference(),
    ReferenceBatch(),
    PolarsBatch(),
    PolarsStreaming(),
    PolarsStreaming(Cluster(partitions=2, shards=3, restarts=True)),
]
EACH_ENGINE = pytest.mark.parametrize(
    "engine", ENGINES, ids=["reference", "reference batch", "batch", "stream", "divided stream"]
)


def amount(value: str = "0", share: float = 0.0, key: str = "a") -> Amount:
    """Returns a record."""
    return Amount(key, Decimal(value), share, None, [], NOON)


@EACH_ENGINE
@settings(max_examples=6, deadline=None)
@given(amounts=amounts())
def test_numbers_are_those_of_plain_python(engine: Interpreter, amounts: list[Amount]) -> None:
    """Each result has the digits and the text that plain Python computes with enough precision."""
    texts = results(engine.run(PIPELINES, {AMOUNTS: bounded(*amounts)}))
    wanted = expected(amounts)
    assert {name: texts[name] for name in wanted} == wanted


@given(value=decimals(), zeros=st.integers(0, 5))
def test_equal_decimals_have_one_normal_form(value: Decimal, zeros: int) -> None:
    """The normal form of a decimal equals it, and is the same for all equal decimals, with the same text."""
    longer = value + Decimal((0, (0,), -zeros)) if abs(value) < 10**9 else value
    for normal in (canonicalize(longer, "it"), conform(longer, DECIMAL, "it")):
        assert normal == longer
        assert repr(normal) == repr(canonical(value)) == repr(canonicalize(value, "it"))


@given(value=st.floats())
def test_the_normal_form_of_a_float_has_one_zero(value: float) -> None:
    """The normal form of a float is the float, except that a zero has no sign."""
    for normal in (canonicalize(value, "it"), conform(value, FLOAT, "it")):
        assert repr(normal) == repr(value + 0.0)


@EACH_ENGINE
def test_a_sum_of_decimals_is_exact_or_an_error(engine: Interpreter) -> None:
    """A total may exceed a Decimal on the way, and is an error only if it does in the end; a mean never is."""
    nines = "9" * 20 + "." + "9" * 18
    back = bounded(amount(nines), amount(nines), amount(f"-{nines}"), amount("-1E-18"))
    sums = DECIMALS.combine_per_key(Sum[Decimal]())
    (pane,) = engine.run(sums, {AMOUNTS: back}).panes
    assert repr(pane.value) == repr(Decimal(nines[:-1] + "8"))
    beyond = bounded(amount(nines), amount("1E-18"))
    with pytest.raises(
        ValueRangeError, match=r"combine_per_key\(Sum\): .*at most 20 digits before and 18 after"
    ):
        engine.run(sums, {AMOUNTS: beyond})
    (pane,) = engine.run(
        DECIMALS.combine_per_key(Mean[Decimal]()), {AMOUNTS: bounded(amount(nines), amount(nines))}
    ).panes
    assert repr(pane.value) == repr(Decimal(nines))


@pytest.mark.parametrize("engine", ENGINES[3:] + ENGINES[:1], ids=["stream", "divided stream", "reference"])
@pytest.mark.parametrize(
    "mode", [Accumulation.ACCUMULATING, Accumulation.DISCARDING, Accumulation.RETRACTING]
)
def test_sums_return_from_infinity_over_several_instants(engine: Interpreter, mode: Accumulation) -> None:
    """A sum of floats that was infinite in a pane is finite in the next one if the sum of all values is."""
    shares = [LARGEST, LARGEST, -LARGEST, -LARGEST, 1.5]
    timeline = Timeline[Amount]()
    for number, share in enumerate(shares):
        timeline = timeline.at(minute(number), amount(share=share))
    windowed = FLOATS.window(GlobalWindows(), trigger=Repeat(AtCount(1)), accumulation=mode)
    inputs = {AMOUNTS: timeline.end(minute(9))}
    emitted, wanted = (
        [
            [pane.value for pane in interpreter.run(windowed.combine_per_key(combiner), inputs).panes]
            for combiner in (Sum[float](), Mean())
        ]
        for interpreter in (engine, Reference())
    )
    assert emitted == wanted
    if mode is Accumulation.ACCUMULATING:
        assert emitted[0] == [LARGEST, float("inf"), LARGEST, 0.0, 1.5]


@pytest.mark.parametrize("engine", ENGINES[3:] + ENGINES[:1], ids=["stream", "divided stream", "reference"])
@pytest.mark.parametrize(
    "combiner", [Sum[Decimal](), Mean[Decimal](), Variance(), Max[Decimal](), ToList[Decimal]()]
)
def test_decimals_can_be_retracted(engine: Interpreter, combiner: Sum[Decimal]) -> None:
    """Corrections of decimals leave no digit behind, and a sum of none is the Decimal zero."""
    totals = DECIMALS.window(
        GlobalWindows(), trigger=Repeat(AtCount(1)), accumulation=Accumulation.RETRACTING
    ).combine_per_key(Sum[Decimal]())
    again = totals.map(lambda pair: KV("all", pair.value)).combine_per_key(combiner)
    timeline = (
        Timeline[Amount]().at(NOON, amount("0.10"), amount("1E+2", key="b")).at(minute(1), amount("0.20"))
    )
    timeline = timeline.at(minute(2), amount("-0.3")).at(minute(3), amount("-1E2", key="b")).end(minute(9))
    runs = [
        [
            (repr(pane.value), pane.change, pane.index)
            for pane in interpreter.run(again, {AMOUNTS: timeline}).panes
        ]
        for interpreter in (Reference(), engine)
    ]
    assert runs[0] == runs[1]
    assert not any("E" in value for value, _, _ in runs[1])


def third(amount: Amount) -> Decimal:
    """Returns more places than a Decimal may have."""
    return amount.amount / 3


def forever(amount: Amount) -> timedelta:
    """Returns a duration of more than 64 bits of microseconds."""
    return timedelta(days=json.loads("999999999"))


def wrong(amount: Amount) -> int:
    """Returns a text, against its annotation."""
    value: int = json.loads('"seven"')
    return value


@EACH_ENGINE
@pytest.mark.parametrize(
    ("pipeline", "error", "message"),
    [
        (
            KEYED.map_values(third),
            ValueRangeError,
            r"at most 20 digits before and 18 after the point; got Decimal\('0.33",
        ),
        (KEYED.map_values(forever), ValueRangeError, "overflows 64 bits"),
        (KEYED.map_values(wrong), ElementError, r"must be of type int; got 'seven' \(str\)"),
        (
            KEYED.flat_map(lambda pair: [third(pair.value)], result=Decimal),
            ValueRangeError,
            "18 after the point",
        ),
        (
            KEYED.map(lambda pair: (third(pair.value), 1), result=tuple[Decimal, int]),
            ValueRangeError,
            "18 after",
        ),
    ],
    ids=["decimal", "duration", "type", "item", "part"],
)
def test_what_a_function_returns_is_checked_as_a_record_is(
    engine: Interpreter, pipeline: PCollection[object], error: type[Exception], message: str
) -> None:
    """A result that does not fit, or of another type, is the same error on every engine, and names the function."""
    with pytest.raises(error, match=rf"the result of (flat_)?map(_values)?\(.*{message}"):
        engine.run(pipeline.combine_globally(ToList()), {AMOUNTS: bounded(amount("1"))})


@EACH_ENGINE
@pytest.mark.parametrize(
    "pipeline",
    [
        KEYED.map_values(lambda amount: 2**63),
        KEYED.map_values(lambda amount: (amount.share, -(2**64))),
        KEYED.map_values(lambda amount: timedelta.max),
        KEYED.map_values(lambda amount: 2**63 if amount.share == 0 else 0),
    ],
    ids=["integer", "part", "duration", "branch"],
)
def test_a_constant_beyond_64_bits_names_its_function(
    engine: Interpreter, pipeline: PCollection[object]
) -> None:
    """A constant result that does not fit is an error that begins with its place in the user's code."""
    with pytest.raises(
        ValueRangeError, match=r"map_values\(<lambda> at .*test_numbers.py:\d+\).* overflows 64 bits"
    ):
        engine.run(pipeline.combine_globally(ToList()), {AMOUNTS: bounded(amount("1"))})


@frozen
class Share:
    """A record with a float."""

    of: float | None


FAR: Final = 2**70 + 1


def digits_of(number: int) -> str:
    """Returns the digits of a number; Python computes them."""
    return format(number, "_d")


@EACH_ENGINE
@pytest.mark.parametrize(
    ("pipeline", "value"),
    [
        (AMOUNTS.map(lambda a: Share(2**70)), Share(2.0**70)),
        (AMOUNTS.map(lambda a: Share(FAR)), Share(2.0**70)),
        (AMOUNTS.map(lambda a: Share(len(a.key) * FAR)), Share(2.0**70)),
        (AMOUNTS.map(lambda a: Share(2**53 + 1)), Share(2.0**53)),
        (AMOUNTS.map(lambda a: KV(a.key, FAR), result=KV[str, float]), KV("a", 2.0**70)),
        (AMOUNTS.map(lambda a: (a.key, FAR), result=tuple[str, float]), ("a", 2.0**70)),
        (AMOUNTS.map(lambda a: FAR, result=float), 2.0**70),
        (AMOUNTS.flat_map(lambda a: [FAR], result=float), 2.0**70),
        (AMOUNTS.map(lambda a: digits_of(len(a.key) * 2**63)), "9_223_372_036_854_775_808"),
    ],
    ids=["literal", "captured", "computed", "rounded", "pair", "tuple", "result", "item", "argument"],
)
def test_an_integer_of_any_size_is_a_float_where_one_is_expected(
    engine: Interpreter, pipeline: PCollection[object], value: object
) -> None:
    """A float that is given an integer is Python's float of it, and functions are called with integers of any size."""
    assert elements_of(engine, pipeline, {AMOUNTS: bounded(amount())}) == [repr(value)]


@EACH_ENGINE
def test_an_integer_beyond_the_largest_float_is_an_error(engine: Interpreter) -> None:
    """An integer that is no float is an error that names the field."""
    pipeline = AMOUNTS.map(lambda a: Share(10**400))
    with pytest.raises(ValueRangeError, match=r"\.of is an int that is beyond the largest float"):
        elements_of(engine, pipeline, {AMOUNTS: bounded(amount())})


@EACH_ENGINE
@pytest.mark.parametrize("value", ["1E+20", "1E-19", "NaN", "-Infinity", "0.1234567890123456789"])
def test_a_decimal_of_a_source_that_does_not_fit_is_an_error(engine: Interpreter, value: str) -> None:
    """A record whose Decimal is too large, too fine or not finite is an error that names the field."""
    with pytest.raises(ValueRangeError, match=r"source 'amounts': element\.amount must be a finite Decimal"):
        engine.run(DECIMALS.combine_per_key(Max[Decimal]()), {AMOUNTS: bounded(amount(value))})


@EACH_ENGINE
def test_a_mean_is_no_negative_zero(engine: Interpreter) -> None:
    """A mean that is rounded to zero from below is 0.0."""
    (pane,) = engine.run(
        FLOATS.combine_per_key(Mean()), {AMOUNTS: bounded(amount(share=-5e-324), amount(share=0.0))}
    ).panes
    assert repr(pane.value) == "0.0"


def test_decimals_of_a_frame_may_have_another_scale() -> None:
    """A frame may store decimals with fewer digits; its schema is an error if it may store others."""
    columns = {"key": ["a"], "share": [-0.0], "maybe": [None], "parts": [[-0.0]], "at": [NOON]}
    frame = pl.DataFrame(columns).with_columns(
        pl.lit("1.50").cast(pl.Decimal(10, 2)).alias("amount"), pl.col("maybe").cast(pl.Decimal(5, 1))
    )
    pipeline = KEYED.map_values(lambda a: f"{a.amount} {a.share} {a.parts}").combine_per_key(Min[str]())
    (pane,) = PolarsBatch().run(pipeline, {AMOUNTS: frame}).panes
    assert pane.value == "1.5 0.0 [0.0]"
    with pytest.raises(
        SchemaMismatchError, match=r"amount must be Decimal .* got Decimal\(precision=38, scale=2\)"
    ):
        PolarsBatch().run(pipeline, {AMOUNTS: frame.with_columns(pl.col("amount").cast(pl.Decimal(38, 2)))})


OPERATIONS: list[tuple[Callable[[Amount], object], type[object]]] = [
    (lambda a: abs(a.amount), Decimal),
    (lambda a: min(a.amount, Decimal("1.50")), Decimal),
    (lambda a: a.amount == a.share, bool),
    (lambda a: a.amount < a.share, bool),
    (lambda a: -5 < a.amount <= 10**19, bool),
    (lambda a: a.amount >= Decimal("0.1000000000000000000000001"), bool),
    (lambda a: a.amount in (Decimal("1.50"), Decimal("1E+2")), bool),
    (lambda a: a.maybe is not None and a.maybe > a.amount, bool),
    (lambda a: a.maybe or a.amount, Decimal),
    (lambda a: a.amount if a.amount else Decimal("-0.0"), Decimal),
    (lambda a: Decimal("1E+3") if a.key == "a" else 2, Decimal),
    (lambda a: str(a.amount), str),
    (lambda a: f"{a.amount}{a.amount:.2f}{a.maybe!r}", str),
    (lambda a: float(a.amount), float),
    (lambda a: (a.amount, [a.amount, Decimal("2.0")]), tuple[Decimal, list[Decimal]]),
]


@pytest.mark.parametrize("number", range(len(OPERATIONS)))
@pytest.mark.parametrize("engine", ENGINES[2:4], ids=["batch", "stream"])
def test_what_functions_do_with_decimals_agrees_to_the_digit(engine: Interpreter, number: int) -> None:
    """Each operation on decimals has Python's results on an engine, lifted or not."""
    function, result = OPERATIONS[number]
    values = ["0", "-0.0", "1.50", "1.5", "1E+2", "-1", "1E-18", "7", "0.1", "12345678901234567890.5"]
    records = [
        Amount(key, Decimal(value), float(value), None if key == "b" else Decimal("1.500"), [], NOON)
        for value in values
        for key in ("a", "b")
    ]
    pipeline = AMOUNTS.map(function, result=result).combine_globally(ToList())
    wanted, texts = (
        [repr(pane.element) for pane in interpreter.run(pipeline, {AMOUNTS: bounded(*records)}).panes]
        for interpreter in (Reference(), engine)
    )
    assert texts == wanted
