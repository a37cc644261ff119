"""Values as JSON and back: equal, complete, and errors with the place where they cannot be written or read.

The laws of serialization state the round trips of triggers, windows, policies and strategies; here are formats, errors
and the classes that the laws do not generate. A class of the algebra without a document fails
``test_every_class_of_the_algebra_has_a_document``, a lost field fails the round trips, and a changed meaning changes
the panes of the pipeline that was read.
"""

from __future__ import annotations

import json
import operator
import pickle
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from functools import cache
from inspect import isabstract
from pathlib import Path
from typing import Generic, TypeVar, get_args

import attrs
import cloudpickle  # type: ignore[import-untyped]  # no types
import flowalg_reference as reference
import games
import pytest
from attrs import field, frozen
from flowalg_laws import apply_windowing
from flowalg_laws.kit.shop import Kind as Sold
from flowalg_laws.kit.shop import sale, time_of
from flowalg_laws.kit.sketches import distinct_counts
from flowalg_laws.strategies import (
    Reading,
    free_timelines,
    positive,
    triggers,
    watermark_policies,
    window_fns,
    windowing_strategies,
)
from flowalg_laws.strategies.computations import SILENCE
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from returns.result import Failure, Result, Success

from flowalg import (
    KV,
    Aggregate,
    AtCount,
    AtWatermark,
    Count,
    EventTime,
    FixedWindows,
    FlowalgError,
    GlobalWindows,
    Max,
    Min,
    PCollection,
    PTransform,
    Quantile,
    Repeat,
    Sessions,
    Source,
    Sum,
    Timeline,
    ToList,
    TopN,
    Window,
    combiner,
    flatten,
    from_json,
    to_json,
)
from flowalg.combiners import AllOf, AnyOf, Combiner, Quantiles, ToSet, Variance, reduce_combiner, together
from flowalg.data.shapes import INTEGER
from flowalg.elementwise.functions import Function
from flowalg.elementwise.steps import Step
from flowalg.errors import DocumentError, NotWritableError
from flowalg.pipeline.co_group import Separate
from flowalg.pipeline.nodes import Hole, Node
from flowalg.serialization import COMBINER, ONCE_TRIGGER, TRIGGER
from flowalg.serialization.document import Kind, Writable
from flowalg.serialization.notations import format_duration, parse_duration
from flowalg.serialization.registry import algebra
from flowalg.triggers import AtElement, AtSignal, OnceTrigger, Trigger
from flowalg.watermarks import WatermarkPolicy
from flowalg.windows import (
    CalendarMonths,
    CustomWindows,
    WindowFn,
    WindowingStrategy,
    WindowsByValue,
)
from tests.support.scores import Score, minute
from tests.support.tables import rows

A = TypeVar("A")
MINUTE = timedelta(minutes=1)


def event_time_of(reading: Reading) -> datetime:
    """Returns the event time of a reading."""
    return reading.at


def key_of(reading: Reading) -> str:
    """Returns the key of a reading."""
    return reading.key


def value_of(reading: Reading) -> int:
    """Returns the value of a reading."""
    return reading.value


def double(number: int) -> int:
    """Returns twice a number."""
    return number * 2


def is_small(pair: KV[str, int]) -> bool:
    """Returns whether the value is small."""
    return abs(pair.value) < 100


def twice(pair: KV[str, int]) -> Iterable[KV[str, int]]:
    """Returns a pair twice."""
    return [pair, pair]


def sizes(pair: tuple[list[int], list[int]]) -> int:
    """Returns the number of values on both sides."""
    return len(pair[0]) + 10 * len(pair[1])


def total(first: int, second: int) -> int:
    """Returns the sum of two results."""
    return first + second


def keep_or_fail(pair: KV[str, int]) -> Result[KV[str, int], str]:
    """Returns a pair, or a failure as data."""
    return Success(pair) if pair.value >= 0 else Failure(pair.key)


def some_time(pair: KV[str, int]) -> datetime:
    """Returns an event time for a pair."""
    return minute(pair.value % 7)


def hours(point: EventTime, key: object) -> Iterable[Window]:
    """Returns user-defined windows."""
    return FixedWindows(timedelta(hours=1)).assign(point, key)


def hours_of_value(point: EventTime, key: object, value: object) -> Iterable[Window]:
    """Returns user-defined windows by value."""
    return hours(point, key)


def add_side_value(pair: KV[str, int], number: int) -> int:
    """Returns the sum of a value and a side input."""
    return pair.value + number


def is_in(pair: KV[str, int], totals: Mapping[str, int]) -> bool:
    """Returns whether a side input has the key."""
    return pair.key in totals


@frozen
class AtMost:
    """A predicate with a parameter."""

    limit: int

    def __call__(self, value: int) -> bool:
        """Returns whether a value is at most the limit."""
        return value <= self.limit


@frozen
class Digits(Combiner[int, Decimal, int]):
    """A user-defined combiner, with fields of many types."""

    base: Decimal
    of: Callable[[int], int] | None
    limits: tuple[int, ...] = (1, 2)
    origin: datetime = datetime(2024, 1, 1, tzinfo=UTC)
    kind: Sold | None = None
    anything: object = None

    def zero(self) -> Decimal:
        """Returns zero."""
        return Decimal(0)

    def add(self, accumulator: Decimal, value: int) -> Decimal:
        """Adds a value."""
        return accumulator + value

    def merge(self, left: Decimal, right: Decimal) -> Decimal:
        """Adds two accumulators."""
        return left + right

    def extract(self, accumulator: Decimal) -> int:
        """Returns the result."""
        return int(accumulator)


READINGS = Source("readings", Reading, event_time=event_time_of)
VALUES: PCollection[KV[str, int]] = READINGS.key_by(key_of).map_values(value_of)

Change = Callable[[PCollection[KV[str, int]]], PCollection[KV[str, int]]]

CHANGES: list[Change] = [
    lambda c: c.map_values(double),
    lambda c: c.filter(is_small),
    lambda c: c.flat_map(twice, result=KV[str, int]),
    lambda c: c.combine_per_key(Sum()),
    lambda c: c.combine_per_key(Count(), Max.of(double), into=total),
    lambda c: flatten(c, c.map_values(double)),
    lambda c: c.co_group_by_key(c).map_values(sizes),
    lambda c: c.split(keep_or_fail)[0],
    lambda c: c.only(KV),
    lambda c: c.distinct(),
]


@st.composite
def pipelines(draw: st.DrawFn) -> PCollection[KV[str, int]]:
    """Draws pipelines of named functions, over keyed integers, with a grouping as their last part."""
    collection = VALUES
    for change in draw(st.lists(st.sampled_from(CHANGES), max_size=3)):
        if draw(st.booleans()):
            collection = apply_windowing(collection, draw(windowing_strategies()))
        collection = change(collection)
    return collection.combine_per_key(Sum())


def round_trip(value: Writable) -> object:
    """Returns the value after writing and reading."""
    return from_json(to_json(value), Kind("anything", (object,)))


@given(pipelines())
def test_pipelines_are_equal_after_a_round_trip(collection: PCollection[KV[str, int]]) -> None:
    """Law: a pipeline is equal after a round trip, with its shapes and analyses, and is written as the same text."""
    text = to_json(collection)
    read = from_json(text, PCollection[KV[str, int]])
    assert read == collection
    assert read.shape == collection.shape
    assert to_json(read) == text
    assert pickle.loads(pickle.dumps(collection)) == collection


def outcome(collection: PCollection[object], source: Source[object], timeline: Timeline[object]) -> object:
    """Returns the panes of a run or its error: the predicate of a trigger may not accept the grouped values."""
    try:
        return reference.run(collection, {source: timeline})
    except FlowalgError as error:
        return str(error)


@given(st.data())
def test_a_pipeline_has_the_same_panes_after_a_round_trip(data: st.DataObject) -> None:
    """A pipeline after a round trip has the same panes on the reference, over any timeline."""
    collection = data.draw(pipelines())
    timeline = data.draw(free_timelines(ends=True))
    read, source = (
        from_json(to_json(collection), PCollection[object]),
        from_json(to_json(READINGS), Source[object]),
    )
    assert outcome(read, source, timeline) == outcome(collection, READINGS, timeline)


@given(free_timelines())
def test_timelines_are_equal_after_a_round_trip(timeline: Timeline[Reading]) -> None:
    """Law: timelines are equal after a round trip, with records, signals and percentile watermarks."""
    assert from_json(to_json(timeline), Timeline[Reading]) == timeline


@given(st.timedeltas())
def test_durations_are_exact(duration: timedelta) -> None:
    """Law: durations are exact to the microsecond, negative ones too."""
    assert parse_duration(format_duration(duration)) == duration


@pytest.mark.parametrize(
    ("duration", "text"),
    [
        (timedelta(0), "PT0S"),
        (2 * MINUTE, "PT2M"),
        (timedelta(days=1), "P1D"),
        (timedelta(days=1, hours=2, minutes=3, seconds=4, microseconds=50), "P1DT2H3M4.00005S"),
        (timedelta(microseconds=-1), "-PT0.000001S"),
    ],
)
def test_durations_are_iso_8601(duration: timedelta, text: str) -> None:
    """Durations are written in ISO 8601."""
    assert format_duration(duration) == text


@pytest.mark.parametrize("text", ["", "P", "PT", "1D", "P1", "P1DT", "PT1.S", "PT1.0000001S", "P1M", "PT1S "])
def test_other_durations_are_errors(text: str) -> None:
    """Durations in months and fractions below a microsecond are errors."""
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        parse_duration(text)


ODD = Digits(
    Decimal("1.50"),
    AtMost(3),
    (),
    datetime(2024, 1, 1, 9, 30, 0, 7, tzinfo=timezone(2 * timedelta(hours=1))),
    Sold.TEA,
    (
        {"a": [1.5, None, True]},
        frozenset({2, 3}),
        b"\x00\xff",
        date(2024, 2, 29),
        -MINUTE,
        int,
        len,
        Decimal(7),
    ),
)

REDUCED: Aggregate[int, int] = reduce_combiner(total, zero=0)

POSITIVE = PTransform.of(int, lambda numbers: numbers.filter(positive), name="positive")

EXAMPLES: list[Writable] = [
    POSITIVE,
    AtSignal('grüße "x" \\ \n \U0001f600'),
    CalendarMonths("UTC"),
    CustomWindows("hours", hours),
    WindowsByValue("hours", hours_of_value),
    AllOf(),
    AnyOf(),
    Separate(2),
    Max.of(len),
    Min(),
    ToList(),
    ToSet(),
    TopN(3, double),
    Variance(),
    ODD,
    PCollection(Hole(INTEGER)),
    PCollection(Hole(None)),
    READINGS,
    Source("numbers", Decimal, event_time=datetime.fromtimestamp),  # type: ignore[arg-type]  # only written
    VALUES.combine_per_key(Sum(), Count(), into=total).combine_globally(ToList()),
    VALUES.co_group_by_key(VALUES).with_timestamps(len),  # type: ignore[arg-type]  # only written
    flatten(VALUES.split(keep_or_fail)[0], VALUES).window(Sessions(MINUTE)).filter(is_small),
    VALUES.split(keep_or_fail)[1],
    VALUES.only(KV).flat_map(twice),
    VALUES.left_join(VALUES),
    VALUES.inner_join(VALUES),
    VALUES.full_join(VALUES),
    VALUES.with_event_time(),
    VALUES.combine_per_key(Sum()).with_window(),
    VALUES.combine_per_key(Sum()).with_pane(),
    VALUES.top(2, by=hash),
    VALUES.process(SILENCE, in_order=True),
    VALUES.every(2),
    VALUES.deduplicate(by=hash, within=MINUTE),
    *distinct_counts(),
    Quantile.of(double, 0.5, relative_error=0.02),
    Quantiles((0.5, 0.95)),
    combiner(zero=0, add=operator.add, merge=operator.add),
    combiner(zero=0, add=operator.add, merge=operator.add, subtract=operator.sub, extract=str, name="net"),
    REDUCED,
    together(Count(), Sum(), into=total),
    VALUES.map_with(VALUES.distinct().combine_globally(Count()).as_singleton(), add_side_value),
    VALUES.filter_with(VALUES.combine_per_key(Sum()).as_map(), is_in),
    VALUES.with_side(VALUES.combine_globally(Count()).as_singleton(default=None)),
    VALUES.with_side(
        VALUES.window(FixedWindows(timedelta(minutes=5))).combine_per_key(Sum()).as_map().latest_complete()
    ),
    Timeline[Score]().at(minute(0), Score("a", 1, minute(0)), percentiles={0.5: minute(1)}).end(minute(1)),
    Timeline[object]().at(minute(0), KV(Sold.CAKE, float("-inf")), sale("a", 1, 2, 3), signals=["x"]),
]
"""A value of every class of the algebra that the laws of serialization do not generate."""


def values_inside(value: object) -> Iterator[object]:
    """Yields a value, and everything in the fields of records and the items of collections inside it."""
    yield value
    kind: type = type(value)
    inner: Iterable[object] = ()
    if isinstance(value, list | tuple | frozenset):
        inner = value
    elif attrs.has(kind):
        inner = [getattr(value, name) for name in attrs.fields_dict(kind)]
    for item in inner:
        yield from values_inside(item)


def subclasses(cls: type) -> Iterator[type]:
    """Yields all subclasses of a class."""
    children: list[type] = cls.__subclasses__()
    for subclass in children:
        yield subclass
        yield from subclasses(subclass)


def members(union: object) -> Iterator[type]:
    """Yields the concrete classes of a union, or of a class and its subclasses."""
    for parent in get_args(union) or (union,):
        assert isinstance(parent, type)
        yield from (
            cls for cls in (parent, *subclasses(parent)) if not isabstract(cls) and cls in algebra().values()
        )


@cache
def generated() -> frozenset[type]:
    """Returns the classes in values that the laws of serialization are checked on; the same at each call."""
    classes: set[type] = set()

    @settings(derandomize=True, database=None, max_examples=300, phases=[Phase.generate])
    @given(st.tuples(triggers(), window_fns(), watermark_policies()))
    def draw(parts: object) -> None:
        classes.update(type(part) for part in values_inside(parts))

    draw()
    return frozenset(classes)


CLASSES = sorted(
    {
        *(
            cls
            for union in (Trigger, WindowFn, WatermarkPolicy, Node, Step, Function)
            for cls in members(union)
        ),
        *(cls for cls in subclasses(Combiner) if cls in algebra().values()),
        *(PCollection, Source, Timeline, WindowingStrategy),
    },
    key=lambda cls: cls.__name__,
)


@pytest.mark.parametrize("value", EXAMPLES, ids=lambda value: type(value).__name__)
def test_examples_are_equal_after_a_round_trip(value: Writable) -> None:
    """Every example is equal after a round trip, by JSON in one line or several, and by pickle."""
    assert round_trip(value) == value
    assert from_json(to_json(value, indent=2), Kind("anything", (object,))) == value
    assert pickle.loads(pickle.dumps(value)) == value


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_every_class_of_the_algebra_has_a_document(cls: type) -> None:
    """Each class has a unique short name, and a value in ``EXAMPLES`` or in those of the laws of serialization."""
    assert algebra()[cls.__name__] is cls
    examples = any(type(part) is cls for value in EXAMPLES for part in values_inside(value))
    without_extra = cls.__name__ == "ApproximateDistinct" and not distinct_counts()
    assert examples or cls in generated() or without_extra


def test_every_public_combiner_is_registered() -> None:
    """Every public combiner is registered under its own name."""
    public = [cls for cls in subclasses(Combiner) if cls.__module__.startswith("flowalg.")]
    named = {cls.__name__ for cls in public if not cls.__name__.startswith("_")} - {
        "Group",
        "Join",
        "Separate",
    }
    assert named <= set(algebra())


def test_a_shared_collection_is_written_once() -> None:
    """Shared collections are written once and read as shared: forty doublings are forty nodes."""
    node = VALUES
    for _ in range(40):
        node = flatten(node, node)
    text = to_json(node)
    assert len(json.loads(text)["nodes"]) == 42
    assert to_json(from_json(text, PCollection[object])) == text


def test_functions_are_the_same_objects_after_a_round_trip() -> None:
    """Functions, classes, methods and built-ins are the same objects after a round trip."""
    for f in (double, Score, AtMost.__call__, str.upper, len, time_of, Timeline.batch, dict.fromkeys):
        read = from_json(to_json(AtElement(f)), AtElement)  # type: ignore[arg-type]  # never called
        assert read.predicate is f or read.predicate == f


def test_datetimes_are_in_utc_after_a_round_trip() -> None:
    """Datetimes are the same points in time after a round trip, in UTC."""
    read = from_json(to_json(ODD), Digits)
    assert read.origin.tzinfo is UTC
    assert read.origin == ODD.origin


def test_the_document_of_the_page_is_up_to_date() -> None:
    """The document on ``docs/serialization.md`` is that of ``games.STANDINGS``, and can be read."""
    page = (Path(__file__).parents[2] / "docs" / "serialization.md").read_text()
    (document,) = re.findall(r"```json\n(.*?)\n```", page, flags=re.DOTALL)
    assert to_json(games.STANDINGS, indent=2) == document
    assert from_json(document, PCollection[object]) == games.STANDINGS
    assert from_json(document, PCollection[KV[str, games.Standing]]).shape == games.STANDINGS.shape


def test_lambdas_are_written_by_cloudpickle_only() -> None:
    """Lambdas have no JSON form; a pipeline with lambdas has the same panes after cloudpickle."""
    collection = READINGS.key_by(lambda r: r.key).map_values(lambda r: r.value).combine_per_key(Sum())
    readings = [Reading("a", number, minute(number), minute(9)) for number in range(5)]
    loaded = pickle.loads(cloudpickle.dumps(collection))
    assert reference.run_batch(loaded, {READINGS: readings}) == reference.run_batch(
        collection, {READINGS: readings}
    )


def with_line(f: Callable[..., object]) -> str:
    """Returns the file and line of a function of this module."""
    return f"tests/core/test_serialization.py:{f.__code__.co_firstlineno}"


LAMBDA: Callable[..., int] = lambda r: 3  # noqa: E731  # needs a lambda


def make_closure() -> Callable[..., bool]:
    """Returns a function that is defined inside another."""

    def inner(value: object) -> bool:
        return True

    return inner


CLOSURE = make_closure()


def shadowed(value: object) -> bool:
    """Returns True; the name of the function is assigned to another function later."""
    return True


TAKEN = shadowed
globals()["shadowed"] = LAMBDA


class Plain:
    """A class without attrs."""

    def __call__(self, value: object) -> bool:
        """Returns True; an instance cannot be written."""
        return True

    def __repr__(self) -> str:
        return "Plain()"


@frozen
class Derived:
    """A predicate with a field that its constructor does not take."""

    hidden: int = field(init=False, default=3)

    def __call__(self, value: object) -> bool:
        """Returns True."""
        return True


T = TypeVar("T")


@frozen
class Box(Generic[T]):
    """A generic record."""

    item: T
    others: list[T]


ADVICE = (
    "define it at the top level of a module that can be imported, with def, or make it a record class with "
    "__call__"
)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: READINGS.key_by(LAMBDA),
            f"nodes[1].steps[0].function.call.f, in key_by(<lambda> at {with_line(LAMBDA)}): it is <lambda> at "
            f"{with_line(LAMBDA)}, which cannot be written: it is a lambda, which cannot be imported; "
            f"{ADVICE}",
        ),
        (
            lambda: VALUES.combine_per_key(Count(), Sum.of(LAMBDA)),
            f"nodes[2].combiner.parts[1].function.f, in Sum.of(<lambda> at {with_line(LAMBDA)}): it is <lambda> "
            f"at {with_line(LAMBDA)}, which cannot be written: it is a lambda, which cannot be imported; "
            f"{ADVICE}",
        ),
        (
            lambda: VALUES.window(GlobalWindows(), trigger=Repeat(AtElement(CLOSURE))),
            f"nodes[2].strategy.trigger.trigger.predicate: it is inner at {with_line(CLOSURE)}, which cannot be "
            f"written: it is defined inside a function, so it cannot be imported; {ADVICE}",
        ),
        (
            lambda: AtElement(TAKEN),
            f"value.predicate: it is shadowed at {with_line(TAKEN)}, which cannot be written: it is not the object "
            f"that importing tests.core.test_serialization:shadowed returns; {ADVICE}",
        ),
        (
            lambda: AtElement(Plain()),
            "value.predicate: it is tests.core.test_serialization.Plain(), which cannot be written: it has no name; "
            f"{ADVICE}",
        ),
        (
            lambda: AtElement(Derived()),
            "value.predicate.hidden: it has init=False, so the record cannot be built from its fields",
        ),
        (
            lambda: attrs.evolve(ODD, anything=[1, 1j]),
            "value.anything[1]: it is 1j (complex), which has no JSON form; it must be a scalar, a collection of "
            "scalars, an enum member, a function or class that can be imported, or a record class of these",
        ),
        (
            lambda: attrs.evolve(ODD, origin=datetime(2024, 1, 1)),
            "value.origin: it is datetime.datetime(2024, 1, 1, 0, 0) (datetime), which cannot be written: it is "
            "naive; attach a time zone",
        ),
        (
            lambda: attrs.evolve(ODD, limits=(1, "2")),  # type: ignore[arg-type]
            "value.limits[1]: it is '2' (str), which is not of its declared type",
        ),
    ],
)
def test_a_value_that_cannot_be_written_is_an_error(build: Callable[[], Writable], message: str) -> None:
    """The error of a value that cannot be written has its place, transform and function, and what to do."""
    with pytest.raises(NotWritableError) as error:
        to_json(build())
    assert str(error.value) == message


def test_a_generic_record_is_equal_after_a_round_trip() -> None:
    """A generic record is equal after a round trip: its type arguments are found from its fields."""
    boxes: Source[Box[int]] = Source("boxes", Box[int], event_time=event_time_of_box)
    assert from_json(to_json(boxes), Source[Box[int]]) == boxes


def event_time_of_box(box: Box[int]) -> datetime:
    """Returns an event time for a box."""
    return minute(box.item)


def edit(document: str, **changes: str) -> str:
    """Returns a document with some of its text replaced; the text must be there."""
    for old, new in changes.items():
        assert old in document
        document = document.replace(old, new)
    return document


VALUE = '{"format": "flowalg", "version": 1, "value": %s}'
PIPELINE = to_json(VALUES)


DOCUMENTS = """
    { -> the text is not valid JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)
    [1] -> the document must be an object, as to_json writes it; got [1] (list)
    {} -> the document has no 'format'; it must have 'format': "flowalg"
    {"format": "x"} -> format is 'x' (str); this version of flowalg reads 'flowalg' only
    {"format": "flowalg"} -> the document has no 'version'; it must have 'version': 1
    {"format": "flowalg", "version": 2, "value": {}} -> version is 2 (int); this version of flowalg reads 1 only
    {"format": "flowalg", "version": true, "value": {}} -> version is True (bool); this version of flowalg \
        reads 1 only
    {"format": "flowalg", "version": 1} -> the document has no 'value'
    {"format": "flowalg", "version": 1, "value": 1, "more": 2} -> the document has an unknown field 'more'; \
        the fields are format, version, nodes and value
    {"format": "a", "format": "b"} -> an object of the document has the key 'format' twice
    {"format": "flowalg", "version": 1, "nodes": {}, "value": 1} -> nodes must be a list of nodes; got {} (dict)
"""
"""Documents that cannot be read, with the error."""

VALUES_IN_DOCUMENTS = """
    NaN -> the text is not valid JSON: NaN is not a JSON number
    {"LagQuantile": {"q": 1e400}} -> the text is not valid: 1e400 is beyond the largest float
    {"AtCuont": {}} -> value: 'AtCuont' is not a class of the algebra
    {"AtCount": {"n": 3}} -> value: AtCount has no field 'n'; its fields are: count
    {"Never": {"n": 3}} -> value: Never has no field 'n'; its fields are: none
    {"AtCount": {}} -> value: AtCount lacks its field 'count'
    {"AtCount": 3} -> value must be an object with the fields of AtCount; got 3 (int)
    {"AtCount": {"count": "3"}} -> value.count must be of type int; got '3' (str)
    {"AtCount": {"count": true}} -> value.count must be of type int; got True (bool)
    {"AtCount": {"count": 0}} -> value: AtCount.count must be a positive int; got 0 (int)
    {"AtCount": {"count": 1}, "Never": {}} -> value must be a value with one tag, such as {'AtCount': \
        {'count': 3}}; got {'AtCount': {'count': 1}, 'Never': {}} (dict)
    {"AfterDelay": {"delay": "2 minutes"}} -> value.delay must be a duration, such as PT2M or P1DT0.5S; got '2 \
        minutes' (str)
    {"AfterDelay": {"delay": "P9999999999D"}} -> value.delay must be a duration, such as PT2M or P1DT0.5S; got \
        'P9999999999D' (str)
    {"WindowingStrategy": {"accumulation": "ALL"}} -> value.accumulation must be one of DISCARDING, \
        ACCUMULATING, RETRACTING; got 'ALL' (str)
    {"Or": {"triggers": []}} -> value: Or.triggers must be one or more once-triggers; got () (tuple)
    {"Or": {"triggers": 3}} -> value.triggers must be a list; got 3 (int)
    {"AtElement": {"predicate": "nowhere.at.all:f"}} -> value.predicate: importing nowhere.at.all raised \
        ModuleNotFoundError: No module named 'nowhere'
    {"AtElement": {"predicate": "flowalg_laws.kit.shop:gone"}} -> value.predicate: \
        flowalg_laws.kit.shop has no gone
    {"AtElement": {"predicate": "gone"}} -> value.predicate: 'gone' is not a name of the form module:name
    {"AtElement": {"predicate": "flowalg_laws.kit.shop:RATE"}} -> value.predicate must be the \
        name of a function; got 'flowalg_laws.kit.shop:RATE' (str)
    {"AtElement": {"predicate": {"tests.core.test_serialization:Plain": {}}}} -> value.predicate: \
        'tests.core.test_serialization:Plain' is not a record class, an enum or a named tuple
    {"float": "big"} -> value must be 'nan', 'inf' or '-inf'; got 'big' (str)
    {"frozenset": [1, 1]} -> value must be a list of distinct, hashable items; got [1, 1] (list)
    {"dict": [[1, 2], [1, 3]]} -> value[1] must be a pair with a distinct, hashable key; got [1, 3] (list)
    {"dict": [[1]]} -> value[0] must be a list of a key and a value; got [1] (list)
    {"PCollection": {"node": 0}} -> value.node must be the number of an earlier node; got 0 (int)
"""
"""Values that cannot be read in a document, with the error."""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *rows(DOCUMENTS),
        *((VALUE % value, message) for value, message in rows(VALUES_IN_DOCUMENTS)),
        (VALUE % ("[" * 100_000 + "]" * 100_000), "the document is nested too deeply"),
        (
            VALUE % ('{"AtCount": {"count": %s}}' % ("1" * 5000)),
            "the text is not valid JSON: Exceeds the limit (4300 digits) for integer string conversion: value has 5000 "
            "digits; use sys.set_int_max_str_digits() to increase the limit",
        ),
        (
            VALUE % '{"Or": {"triggers": [{"Never": {}}, {"Repeat": {"trigger": {"Never": {}}}}]}}',
            f"value.triggers[1] must be one of {', '.join(cls.__name__ for cls in get_args(OnceTrigger))}; "
            "got {'Repeat': {'trigger': {'Never': {}}}} (dict)",
        ),
        (
            edit(
                PIPELINE, **{"tests.core.test_serialization:key_of": "tests.core.test_serialization:no_key"}
            ),
            "nodes[1].steps[0].function.call.f: tests.core.test_serialization has no no_key",
        ),
        (
            edit(PIPELINE, **{'"input": 0': '"input": 1'}),
            "nodes[1].input must be the number of an earlier node; got 1 (int)",
        ),
        (
            edit(PIPELINE, **{"flowalg_laws.kit.readings:Reading": "tests.core.test_serialization:Plain"}),
            "nodes[0].shape: Plain is not an element type; it must be bool, int, float, str, "
            "bytes, datetime, date, timedelta, Decimal, an Enum, a record class (a frozen one of attrs, dataclasses, "
            "pydantic or msgspec, or a NamedTuple), KV[K, V], list[T], frozenset[T], set[T], tuple[T1, T2], Maybe[T], "
            "Result[T, E], or a union of them, also with None; "
            "define a record class: use @dataclass(frozen=True) on a class with annotated fields",
        ),
        (
            edit(PIPELINE, **{'"flowalg_laws.kit.readings:Reading"': '{"set": "int"}'}),
            "nodes[0].shape: {'set': 'int'} is not a type",
        ),
        (
            edit(PIPELINE, **{'"PCollection": {"node": 1}': '"Source": {"node": 1}'}),
            "value: the node of a Source must be a SourceNode",
        ),
    ],
)
def test_a_document_that_cannot_be_read_is_an_error(text: str, message: str) -> None:
    """The error of a document that cannot be read has the place."""
    with pytest.raises(DocumentError) as error:
        from_json(text, Kind("anything", (object,)))
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (
            lambda: from_json(to_json(AtCount(1)), PCollection[object]),
            "value must be of type PCollection; got AtCount(count=1) (AtCount)",
        ),
        (lambda: from_json(to_json(Count()), TRIGGER), "value must be a trigger; got Count() (Count)"),
        (
            lambda: from_json(to_json(Repeat(AtCount(1))), ONCE_TRIGGER),
            "value must be a once-trigger; got Repeat(trigger=AtCount(count=1)) (Repeat)",
        ),
        (
            lambda: from_json(to_json(AtCount(1)), COMBINER),
            "value must be a combiner; got AtCount(count=1) (AtCount)",
        ),
        (
            lambda: from_json(PIPELINE, PCollection[KV[str, str]]),
            "value must be a collection of KV[str, str]; got a collection of KV[str, int]",
        ),
        (
            lambda: from_json(to_json(Timeline[int]().at(minute(0), 3)), Timeline[str]),
            "value.instants[0].elements[0] must be of type str; got 3 (int)",
        ),
    ],
)
def test_a_document_of_another_type_is_an_error(read: Callable[[], object], message: str) -> None:
    """A document of another type than the expected one is an error."""
    with pytest.raises(DocumentError) as error:
        read()
    assert str(error.value) == message


def test_a_value_is_read_as_its_kind() -> None:
    """A combiner and a once-trigger are read as such; the document of a combiner has no type of its values."""
    assert from_json(to_json(Sum.of(double)), COMBINER) == Sum.of(double)
    assert from_json(to_json(AtCount(1) & AtWatermark()), ONCE_TRIGGER) == AtCount(1) & AtWatermark()


def test_a_value_that_is_nested_too_deeply_is_an_error() -> None:
    """A value that is nested too deeply is an error of flowalg, not a crash of the interpreter."""
    trigger: Trigger = AtCount(1)
    for _ in range(5000):
        trigger = Repeat(trigger)
    with pytest.raises(NotWritableError, match="^value: it is nested too deeply$"):
        to_json(trigger)
