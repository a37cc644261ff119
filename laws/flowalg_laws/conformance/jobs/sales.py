"""Jobs about values and functions: lifted functions, functions in Python, and all types of fields.

Some elements exceed the allowed lateness, so drops are compared too.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from flowalg import (
    FOREVER,
    KV,
    AtWatermark,
    Count,
    FixedWindows,
    GlobalWindows,
    Max,
    Mean,
    Min,
    Sum,
)
from flowalg_laws.conformance.jobs.job import Answer, Span, fixed, grouped, job
from flowalg_laws.kit.shop import (
    ODD_TIMES,
    RATE,
    SALES,
    SOLD,
    SOLD_AT_ODD_TIMES,
    Bill,
    Kind,
    Place,
    Sale,
    Totals,
    city_and_kind,
    initial,
    time_of,
    weighted,
    words,
)

LATENESS = timedelta(minutes=4)
FIVE = FixedWindows(timedelta(minutes=5))

by_shop = SALES.key_by(lambda s: s.shop)


def five(sale: Sale) -> list[Span]:
    """Returns the five-minute window of a sale."""
    return [fixed(sale.at, 5)]


def always(sale: Sale) -> list[Span]:
    """Returns the global window."""
    return [None]


def by_shop_in_fives(sales: list[Sale]) -> Iterator[tuple[str, Span, list[Sale]]]:
    """The sales of each shop and five-minute window."""
    yield from grouped(sales, lambda s: s.shop, five)


def mean(values: list[int]) -> float:
    """Returns the mean."""
    return sum(values) / len(values)


@job(
    by_shop.map_values(lambda s: s.amount).window(FIVE, allowed_lateness=LATENESS).combine_per_key(Sum()),
    SOLD,
)
def a_sum_per_key(sales: list[Sale]) -> Answer:
    """A sum per key and fixed window."""
    for shop, window, group in by_shop_in_fives(sales):
        yield KV(shop, sum(s.amount for s in group)), window


@job(
    by_shop.window(FIVE, allowed_lateness=LATENESS).combine_per_key(
        Count(), Sum.of(lambda s: s.amount * RATE + 1), Mean.of(lambda s: s.amount), into=Totals
    ),
    SOLD,
)
def several_results_as_a_record(sales: list[Sale]) -> Answer:
    """Several combiners at once, with a record as result."""
    for shop, window, group in by_shop_in_fives(sales):
        amounts = [s.amount for s in group]
        yield KV(shop, Totals(len(group), sum(3 * amount + 1 for amount in amounts), mean(amounts))), window


@job(
    SALES.filter(lambda s: s.amount > 2 and s.note is None)
    .key_by(lambda s: s.place.city)
    .combine_per_key(Count()),
    SOLD,
)
def the_global_window(sales: list[Sale]) -> Answer:
    """A filter on an optional field, in the global window."""
    filtered = [s for s in sales if s.amount > 2 and s.note is None]
    for city in {s.place.city for s in filtered}:
        yield KV(city, len([s for s in filtered if s.place.city == city])), None


@job(
    SALES.filter(lambda s: s.amount > 1000).key_by(lambda s: s.shop).combine_per_key(Count()),
    SOLD,
)
def an_empty_collection(sales: list[Sale]) -> Answer:
    """An empty collection emits nothing."""
    return []


@job(
    by_shop.window(FIVE, allowed_lateness=FOREVER).combine_per_key(
        Min.of(lambda s: s.at),
        Max.of(lambda s: s.place.city),
        Min.of(lambda s: s.price),
        Max.of(lambda s: s.amount),
    ),
    SOLD,
)
def least_and_greatest(sales: list[Sale]) -> Answer:
    """The least and the greatest of times, strings, floats and integers."""
    for shop, window, group in by_shop_in_fives(sales):
        times, cities = [s.at for s in group], [s.place.city for s in group]
        prices, amounts = [s.price for s in group], [s.amount for s in group]
        yield KV(shop, (min(times), max(cities), min(prices), max(amounts))), window


@job(
    SALES.key_by(lambda s: s.place)
    .window(FixedWindows(timedelta(minutes=7), timedelta(minutes=2)), allowed_lateness=LATENESS)
    .combine_per_key(Count()),
    SOLD,
)
def a_record_as_key(sales: list[Sale]) -> Answer:
    """A record as key, and windows with an offset: seven minutes from the epoch, plus an offset."""
    for place, window, group in grouped(sales, lambda s: s.place, lambda s: [fixed(s.at, 7, 3)]):
        yield KV(place, len(group)), window


@job(
    SALES.key_by(city_and_kind)
    .window(FIVE, allowed_lateness=LATENESS)
    .combine_per_key(Sum.of(lambda s: -s.amount)),
    SOLD,
)
def a_tuple_as_key_from_Python(sales: list[Sale]) -> Answer:
    """A tuple as key, computed by a function that is not lifted."""
    for (city, kind), window, group in grouped(sales, lambda s: (s.place.city, s.kind), five):
        yield KV((city, kind is Kind.TEA), sum(-s.amount for s in group)), window


@job(
    SALES.key_by(lambda s: (s.kind, s.note)).window(FIVE, allowed_lateness=LATENESS).combine_per_key(Count()),
    SOLD,
)
def an_enum_and_an_optional_as_key(sales: list[Sale]) -> Answer:
    """``None`` is a valid key."""
    for key, window, group in grouped(sales, lambda s: (s.kind, s.note), five):
        yield KV(key, len(group)), window


@job(
    SALES.flat_map(words, result=str)
    .key_by(lambda word: f"<{word}>")
    .window(FIVE, allowed_lateness=LATENESS)
    .combine_per_key(Count()),
    SOLD,
)
def flat_map_in_Python(sales: list[Sale]) -> Answer:
    """A ``flat_map`` whose function is not lifted."""
    tagged = [(word, s) for s in sales for word in (*s.tags, *([s.note] if s.note else []))]
    for word, window, group in grouped(tagged, lambda pair: pair[0], lambda pair: five(pair[1])):
        yield KV("<" + word + ">", len(group)), window


@job(
    SALES.flat_map(lambda s: s.tags)
    .key_by(lambda tag: tag)
    .window(FIVE, allowed_lateness=LATENESS)
    .combine_per_key(Count()),
    SOLD,
)
def flat_map_of_a_list(sales: list[Sale]) -> Answer:
    """A ``flat_map`` over a list field."""
    tagged = [(tag, s) for s in sales for tag in s.tags]
    for tag, window, group in grouped(tagged, lambda pair: pair[0], lambda pair: five(pair[1])):
        yield KV(tag, len(group)), window


@job(
    SALES.key_by(initial).window(FIVE, allowed_lateness=LATENESS).combine_per_key(Count(), Sum.of(weighted)),
    SOLD,
)
def an_argument_from_Python(sales: list[Sale]) -> Answer:
    """The input of a combiner, computed by a function that is not lifted."""
    for shop, window, group in by_shop_in_fives(sales):
        total = 0
        for s in group:
            total += len("".join(s.tags)) * s.amount
        yield KV(shop.upper(), (len(group), total)), window


@job(
    by_shop.map_values(lambda s: s.amount if s.note is not None and s.amount >= 0 else -1)
    .window(FIVE, allowed_lateness=LATENESS)
    .combine_per_key(Max()),
    SOLD,
)
def a_conditional_expression(sales: list[Sale]) -> Answer:
    """A conditional expression that tests an optional for ``None``."""
    for shop, window, group in by_shop_in_fives(sales):
        yield KV(shop, max(-1 if s.note is None or s.amount < 0 else s.amount for s in group)), window


@job(
    by_shop.map_values(lambda s: s.amount)
    .window(FIVE, allowed_lateness=LATENESS)
    .combine_per_key(Sum())
    .filter(lambda pair: pair.value != 4)
    .map(lambda pair: Bill(pair.key, pair.value * 100, pair.value > 5)),
    SOLD,
)
def panes_mapped_and_filtered(sales: list[Sale]) -> Answer:
    """Element-wise steps after a grouping, with a record as result."""
    for shop, window, group in by_shop_in_fives(sales):
        total = sum(s.amount for s in group)
        if total != 4:
            yield Bill(shop, 100 * total, total > 5), window


@job(
    by_shop.window(FIVE, allowed_lateness=LATENESS)
    .combine_per_key(Mean.of(lambda s: s.amount))
    .map(lambda pair: f"{pair.key}: {pair.value:.3f}"),
    SOLD,
)
def panes_mapped_in_Python(sales: list[Sale]) -> Answer:
    """An element-wise step after a grouping that is not lifted."""
    for shop, window, group in by_shop_in_fives(sales):
        yield shop + ": " + format(mean([s.amount for s in group]), ".3f"), window


@job(
    by_shop.window(FIVE, trigger=AtWatermark(), allowed_lateness=LATENESS).combine_per_key(Count()),
    SOLD,
)
def a_trigger_that_does_not_repeat(sales: list[Sale]) -> Answer:
    """Elements after the only pane of a window are dropped as closed."""
    for shop, window, group in by_shop_in_fives(sales):
        yield KV(shop, len(group)), window


@job(
    ODD_TIMES.key_by(lambda s: s.shop).window(FIVE, allowed_lateness=LATENESS).combine_per_key(Count()),
    SOLD_AT_ODD_TIMES,
)
def event_times_from_Python(sales: list[Sale]) -> Answer:
    """Event times computed by a function that is not lifted."""
    for shop, window, group in grouped(sales, lambda s: s.shop, lambda s: [fixed(time_of(s), 5)]):
        yield KV(shop, len(group)), window


@job(
    SALES.map(lambda s: KV(s.shop, Place(s.place.city, s.place.floor + s.amount)))
    .map_values(lambda p: p.floor * p.floor - p.floor)
    .window(GlobalWindows())
    .combine_per_key(Sum(), Count()),
    SOLD,
)
def intermediate_records(sales: list[Sale]) -> Answer:
    """Records that are constructed and read again before the grouping."""
    for shop, window, group in grouped(sales, lambda s: s.shop, always):
        floors = [s.place.floor + s.amount for s in group]
        yield KV(shop, (sum(floor * (floor - 1) for floor in floors), len(group))), window


@job(
    by_shop.window(FIVE, allowed_lateness=LATENESS)
    .combine_per_key(Count())
    .map(lambda pair: KV("all", pair.value))
    .combine_per_key(Max(), Sum()),
    SOLD,
)
def two_stages(sales: list[Sale]) -> Answer:
    """A second grouping in the windows of the first."""
    counts = [(window, len(group)) for _, window, group in by_shop_in_fives(sales)]
    for _, window, group in grouped(counts, lambda pair: 0, lambda pair: [pair[0]]):
        yield KV("all", (max(n for _, n in group), sum(n for _, n in group))), window


JOBS = (
    a_sum_per_key,
    several_results_as_a_record,
    the_global_window,
    an_empty_collection,
    least_and_greatest,
    a_record_as_key,
    a_tuple_as_key_from_Python,
    an_enum_and_an_optional_as_key,
    flat_map_in_Python,
    flat_map_of_a_list,
    an_argument_from_Python,
    a_conditional_expression,
    panes_mapped_and_filtered,
    panes_mapped_in_Python,
    a_trigger_that_does_not_repeat,
    event_times_from_Python,
    intermediate_records,
    two_stages,
)
