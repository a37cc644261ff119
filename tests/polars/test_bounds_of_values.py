"""Durations and integers at the bounds of 64 bits, as values, keys, parts of values and results of functions."""

from __future__ import annotations

import math
from datetime import timedelta

import pytest
from attrs import frozen
from flowalg_columns.tables import output_table
from flowalg_polars import PolarsBatch, PolarsStreaming
from flowalg_reference import Reference, ReferenceBatch
from hypothesis import given
from hypothesis import strategies as st

from flowalg import FixedWindows, FlowalgError, Max, Min, Mode, PCollection, Source, Timeline, ToList
from flowalg.data import INGRESS_TIME
from flowalg.data.time import EPOCH
from flowalg.errors import UserFunctionError, ValueRangeError

MICROSECOND = timedelta(microseconds=1)
DAY = 24 * timedelta(hours=1)
LEAST, GREATEST = -(2**63) * MICROSECOND, (2**63 - 1) * MICROSECOND


@frozen
class Gap:
    """A duration, alone and inside of other values."""

    length: timedelta
    lengths: list[timedelta]
    pair: tuple[timedelta, int] | None


GAPS = Source("gaps", Gap, event_time=INGRESS_TIME)
FLOATS = Source("floats", float, event_time=INGRESS_TIME)


def length_of(gap: Gap) -> timedelta:
    """Returns the duration, by a function that Python calls."""
    return max([gap.length])


KEYED = GAPS.key_by(lambda gap: gap.length).map_values(length_of)
BY_HOUR = KEYED.window(FixedWindows(timedelta(hours=1)), allowed_lateness=timedelta(0))
PIPELINES: dict[str, PCollection[object]] = {
    "as they are": GAPS.map(lambda gap: gap),
    "by Python": GAPS.map(length_of),
    "key and least": BY_HOUR.combine_per_key(Min()),
    "key and greatest": BY_HOUR.combine_per_key(Max()),
    "lists": BY_HOUR.combine_per_key(ToList()),
}
DURATIONS = st.one_of(
    st.timedeltas(LEAST, LEAST + 2 * DAY),
    st.timedeltas(GREATEST - 2 * DAY, GREATEST),
    st.sampled_from([LEAST, GREATEST, timedelta(0)]),
)


@pytest.mark.parametrize("name", PIPELINES)
@given(lengths=st.lists(DURATIONS, min_size=1, max_size=4))
def test_durations_have_64_bits(name: str, lengths: list[timedelta]) -> None:
    """All engines return the reference's values, and its output can be written to a table."""
    pipeline = PIPELINES[name]
    records = [Gap(length, [length], (length, 1)) for length in lengths]
    batch = {GAPS: Timeline.batch(records, time=EPOCH + DAY)}
    stream = {GAPS: Timeline[Gap]().at(EPOCH + DAY, *records).end(EPOCH + 2 * DAY)}
    expected = ReferenceBatch().run(pipeline, batch)
    output = PolarsBatch().run(pipeline, batch)
    assert (output.panes, output.elements) == (expected.panes, expected.elements)
    assert output_table(pipeline, expected).num_rows
    streamed, in_steps = (
        PolarsStreaming().run(pipeline, stream),
        Reference(Mode.MICRO_BATCH).run(pipeline, stream),
    )
    assert (streamed.panes, streamed.elements) == (in_steps.panes, in_steps.elements)


def rounded(x: float) -> int:
    """Rounds half to even."""
    return round(x)


ROUNDINGS: dict[str, PCollection[int]] = {
    "int": FLOATS.map(lambda x: int(x)),
    "floor": FLOATS.map(lambda x: math.floor(x)),
    "ceil": FLOATS.map(lambda x: math.ceil(x)),
    "round": FLOATS.map(rounded),
}


@pytest.mark.parametrize("name", ROUNDINGS)
@pytest.mark.parametrize(
    ("number", "error", "message"),
    [
        (math.nan, UserFunctionError, "ValueError: cannot convert float NaN to integer"),
        (math.inf, UserFunctionError, "OverflowError: cannot convert float infinity to integer"),
        (-math.inf, UserFunctionError, "OverflowError: cannot convert float infinity to integer"),
        (float(2**63 - 1), ValueRangeError, "overflows 64 bits"),
        (-1e300, ValueRangeError, "overflows 64 bits"),
        (-(2.0**63), None, ""),
        (2.0**63 - 1024, None, ""),
    ],
)
def test_a_float_beyond_64_bits_is_no_integer(
    name: str, number: float, error: type[FlowalgError] | None, message: str
) -> None:
    """The error has the same class on all engines, and Python's message where Python raises."""
    timelines = {FLOATS: Timeline.batch([number], time=EPOCH)}
    for engine in (ReferenceBatch(), PolarsBatch()):
        if error is None:
            (element,) = engine.run(ROUNDINGS[name], timelines).elements
            assert element.element == int(number)
            continue
        with pytest.raises(error, match=message):
            engine.run(ROUNDINGS[name], timelines)


INTEGERS = Source("integers", int, event_time=INGRESS_TIME)
LENGTHS: dict[str, PCollection[object]] = {
    "seconds": INTEGERS.map(lambda n: timedelta(seconds=n)),
    "days": INTEGERS.map(lambda n: timedelta(days=n)),
    "product": INTEGERS.map(lambda n: timedelta(seconds=1) * n),
    "square": INTEGERS.map(lambda n: timedelta(microseconds=n * n)),
    "branch": INTEGERS.map(lambda n: timedelta(hours=n) if n > 5 else timedelta(minutes=n)),
    "compared": INTEGERS.map(lambda n: timedelta(seconds=n) < timedelta(days=1)),
}
TOO_LONG = timedelta.max // timedelta(seconds=1) + 1


@pytest.mark.parametrize("name", LENGTHS)
@given(
    n=st.integers(-(2**63), 2**63 - 1)
    | st.integers(TOO_LONG - 1, TOO_LONG)
    | st.integers(-9, 9).map(lambda n: n * 10**12)
)
def test_a_duration_beyond_those_of_python_is_the_error_of_its_function(name: str, n: int) -> None:
    """What Python has no timedelta for raises in the function, and one beyond 64 bits is a result out of range."""
    timelines = {INTEGERS: Timeline.batch([n], time=EPOCH)}
    runs: list[object] = []
    for engine in (ReferenceBatch(), PolarsBatch()):
        try:
            runs.append(engine.run(LENGTHS[name], timelines).elements)
        except UserFunctionError as error:
            runs.append(type(error))
        except ValueRangeError as error:
            runs.append(str(error).partition("overflows")[2])
    assert runs[0] == runs[1]
