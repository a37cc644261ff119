"""Products of collections: transforms with several inputs and outputs, which are nested tuples of collections.

The laws of a symmetric monoidal category are in ``flowalg_laws``. The tests here cover sharing, names, errors,
documents and the sizes of graphs.
"""

from __future__ import annotations

import pickle
from datetime import timedelta
from typing import Final, NamedTuple, TypeAlias

import flowalg_reference
import pytest
from returns.result import Failure, Result, Success

import flowalg.pipeline.nodes
from flowalg import (
    KV,
    Count,
    FixedWindows,
    PCollection,
    PTransform,
    Sum,
    Timeline,
    explain,
    flatten,
    from_json,
    hazards,
    ptransform,
    to_json,
)
from flowalg.data.shapes import Shape
from flowalg.elementwise.steps import Step
from flowalg.errors import ArgumentError, DocumentError, KeyedCollectionError
from flowalg.lifting.analysis import StepAnalysis, analyse
from flowalg.pipeline import ElementWise
from flowalg.pipeline import Flatten as FlattenNode
from flowalg.pipeline.graph import nodes_of
from flowalg.transforms import (
    CombineGlobally,
    CombinePerKey,
    Copy,
    FanOut,
    Filter,
    Flatten,
    InnerJoin,
    Input,
    KeyBy,
    MapValues,
    Split,
    Swap,
    WindowInto,
)
from tests.core.test_graph import count_calls
from tests.support.scores import NOON, POINTS, SCORES, Score, minute

Pair: TypeAlias = KV[str, int]
Pairs: TypeAlias = PCollection[Pair]

PAIRS: Final = Input(KV[str, int])
COUNT: Final = PTransform.of(KV[str, int], lambda pairs: pairs.combine_per_key(Count()), name="count")
COUNT_SCORES: Final = PTransform.of(KV[str, Score], lambda pairs: pairs.combine_per_key(Count()))
SUM: Final = PTransform.of(KV[str, int], lambda pairs: pairs.combine_per_key(Sum()), name="sum")
SUMS: Final = POINTS.combine_per_key(Sum())
TIMELINE: Final = Timeline[Score]().at(minute(1), Score("red", 5, NOON), Score("red", 3, NOON)).end(minute(5))


def divide(pair: tuple[int, int]) -> float:
    """Returns the quotient."""
    return pair[0] / pair[1]


@ptransform
def means(sums: Pairs, counts: Pairs) -> PCollection[KV[str, float]]:
    """Returns the mean of each key, from its sum and its count."""
    return sums.inner_join(counts).map_values(divide)


def parse(score: Score) -> Result[int, str]:
    """Returns the points, or the team if there are none."""
    return Success(score.points) if score.points > 4 else Failure(score.team)


class Parsed(NamedTuple):
    """The outputs of a parser."""

    good: PCollection[int]
    bad: PCollection[str]


@ptransform(name="parsing")
def parsing(scores: PCollection[Score]) -> Parsed:
    """Returns the points, and the teams of other scores."""
    return Parsed(*scores.split(parse))


def test_several_inputs_and_outputs_are_applied_as_a_function_of_collections() -> None:
    """A transform of a product is what its parts are on the parts, and runs on an engine as methods do."""
    windowed = POINTS.window(FixedWindows(timedelta(minutes=2)))
    counted, summed = (windowed, windowed) >> (COUNT & SUM)
    assert (counted, summed) == (windowed.combine_per_key(Count()), windowed.combine_per_key(Sum()))
    mean = windowed >> (FanOut(SUM, COUNT) >> means)
    assert mean == summed.inner_join(counted).map_values(divide)
    panes = flowalg_reference.run(mean, {SCORES: TIMELINE}).panes
    assert [pane.value for pane in panes] == [4.0]


def test_inputs_of_one_shape_are_distinct() -> None:
    """Two inputs of the same elements are two holes, also after composition."""
    both = PTransform.of(KV[str, int], KV[str, int], lambda a, b: flatten(a, b.filter(is_low)))
    other = PTransform.of(KV[str, int], KV[str, int], lambda a, b: flatten(b, a.filter(is_low)))
    twice = PTransform.of(KV[str, int], KV[str, int], lambda a, b: flatten(a, a.filter(is_low)))
    assert len({both, other, twice}) == 3
    assert (PAIRS & PAIRS) >> Swap() >> both == other
    assert (SUM & SUM) >> Swap() != SUM & SUM
    high = POINTS.filter(lambda pair: pair.value > 4)
    assert (POINTS, high) >> both == flatten(POINTS, high.filter(is_low))


def is_low(pair: Pair) -> bool:
    """Returns whether the value is below five."""
    return pair.value < 5


def test_a_node_that_several_outputs_read_remains_one() -> None:
    """Both collections of a split read the outcomes from one node, after any composition and application."""
    transforms: list[PTransform[PCollection[Score], tuple[PCollection[object], PCollection[object]]]] = [
        Split(parse),
        Split(Score, parse),
        PTransform.of(Score, lambda scores: scores.split(parse), name="split"),
        Filter(Score, lambda s: s.points > 0) >> Split(parse),
        (Filter(Score, lambda s: s.points > 0) >> Split(parse)).named("split"),
        Split(Score, parse) >> Swap(),
    ]
    for transform in transforms:
        good, bad = SCORES >> transform
        assert good.node.inputs[0] is bad.node.inputs[0]
    first, second = SCORES.apply(lambda scores: scores.split(parse), label="parsing")
    assert first.node.inputs[0] is second.node.inputs[0]


def test_outputs_can_be_named() -> None:
    """A named tuple of collections is what the transform returns, also after composition; others see a tuple."""
    parsed = SCORES >> parsing
    assert isinstance(parsed, Parsed)
    assert parsed == SCORES.split(parse)
    assert (SCORES >> (Input(Score) >> parsing)).good == parsed.good
    assert isinstance(((SCORES, POINTS) >> (parsing & SUM))[0], Parsed)
    assert SCORES >> (parsing >> Swap()) == (parsed.bad, parsed.good)
    for copy in (
        pickle.loads(pickle.dumps(parsing)),
        from_json(to_json(parsing), PTransform[PCollection[Score], Parsed]),
    ):
        assert copy == parsing
        assert SCORES >> copy == parsed
        assert isinstance(SCORES >> copy, Parsed)


def test_names_of_the_parts_are_scopes() -> None:
    """Each part of a product keeps its box, inside that of the whole."""
    joined = ((COUNT & SUM) >> InnerJoin()).named("both")
    shown = explain((POINTS, POINTS) >> joined)
    assert "> both" in shown
    assert {hazard.where for hazard in hazards((POINTS, POINTS) >> joined)} >= {
        "both/count/combine_per_key(Count)",
        "both/sum/combine_per_key(Sum)",
        "both/inner_join",
    }


def test_a_transform_with_several_outputs_is_explained_by_output() -> None:
    """``explain`` numbers the outputs, and the inputs after the first; a hazard of both outputs is written once."""
    text = explain(COUNT & SUM)
    assert text.startswith("output 1:\n    input: KV[str, int]\n    > count: KV[str, int]")
    assert "\noutput 2:\n    input 2: KV[str, int]\n    > sum: KV[str, int]" in text
    assert explain(SUM >> Copy()).count("! sum/combine_per_key(Sum): state is kept") == 1
    assert "output 2:" in (COUNT & SUM)._repr_html_()
    assert str(COUNT & SUM) == "transform: (…) > count/combine_per_key(Count), (…) > sum/combine_per_key(Sum)"


def test_products_are_values() -> None:
    """Products can be hashed, pickled and serialized; names and the structure of tuples are kept."""
    nested = ((COUNT & SUM) & PAIRS) >> Swap()
    assert pickle.loads(pickle.dumps(nested)) == nested
    assert hash(nested) == hash(((COUNT & SUM) & PAIRS) >> Swap())
    kind = PTransform[tuple[tuple[Pairs, Pairs], Pairs], tuple[Pairs, tuple[Pairs, Pairs]]]
    read = from_json(to_json(nested), kind)
    assert read == nested
    assert ((POINTS, POINTS), POINTS) >> read == ((POINTS, POINTS), POINTS) >> nested
    other = PTransform[tuple[Pairs, Pairs], tuple[Pairs, Pairs]]
    with pytest.raises(DocumentError, match="a transform must take and return collections as in"):
        from_json(to_json(nested), other)
    with pytest.raises(DocumentError, match="a collection of str; got a collection of"):
        from_json(to_json(SUM), PTransform[PCollection[str], Pairs])


def test_a_document_of_unknown_elements_is_filled_with_known_ones() -> None:
    """A transform that was read from a document has no functions to build it again; its steps are analysed again."""
    counting = Filter(is_low) >> CombinePerKey(Count())
    read = from_json(to_json(counting), PTransform[Pairs, Pairs])
    assert read == counting
    assert POINTS >> read == POINTS >> counting
    assert (POINTS >> read).shape == SUMS.shape
    with pytest.raises(KeyedCollectionError, match="combine_per_key"):
        Input(int) >> read  # type: ignore[operator]


def test_a_copy_of_a_copy_is_a_graph_and_not_a_tree() -> None:
    """A fan-out shares its input: forty of them, which are a tree of 2**40 nodes, are one graph of 80."""
    diamond = Copy()
    level = PAIRS >> diamond >> Flatten()
    whole = PAIRS
    for _ in range(40):
        whole = whole >> level
    nodes = list(nodes_of((POINTS >> whole).node))
    assert len([node for node in nodes if isinstance(node, FlattenNode)]) == 40


def test_a_composition_of_forty_transforms_is_the_pipeline_of_methods() -> None:
    """Nothing of a composition is left in a pipeline: it has the nodes of the methods, so engines compile the same."""
    methods: Pairs = SCORES.key_by(lambda s: s.team).map_values(lambda s: s.points)
    begin, points = KeyBy(Score, lambda s: s.team), MapValues(KV[str, Score], lambda s: s.points)
    composed = begin >> points
    for number in range(1, 14):
        windows = FixedWindows(timedelta(minutes=number))
        methods = methods.window(windows).combine_per_key(Sum()).filter(is_low)
        composed = composed >> WindowInto(windows) >> CombinePerKey(Sum()) >> Filter(is_low)
    applied = SCORES >> composed
    kinds = [[type(node) for node in nodes_of(pipeline.node)] for pipeline in (applied, methods)]
    assert kinds[0] == kinds[1]
    assert str(explain(applied)).count("combine_per_key") == str(explain(methods)).count("combine_per_key")


def test_an_application_analyses_no_function_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Functions are lifted once: when a transform is built, and not when it is applied to elements of its type."""
    composed = Filter(Score, lambda s: s.points > 0) >> KeyBy(Score, lambda s: s.team) >> COUNT_SCORES
    whole = composed >> MapValues(KV[str, int], lambda n: n + 1) >> CombinePerKey(Sum())
    assert (SCORES >> whole).shape is not None
    again = PTransform.of(Score, lambda scores: scores >> whole)
    analysed: list[Step] = []

    def count(steps: tuple[Step, ...], before: Shape | None) -> tuple[StepAnalysis, ...]:
        analysed.extend(steps)
        return analyse(steps, before)

    monkeypatch.setattr(flowalg.pipeline.nodes, "analyse", count)
    assert (SCORES >> whole).shape == (SCORES >> again).shape is not None
    assert analysed == []
    mapped = SCORES.map(lambda s: Score(s.team, 2 * s.points, s.at))
    assert (mapped >> whole).shape is not None
    assert [step.label.partition("(")[0] for step in analysed] == ["map"]


def test_a_transform_keeps_the_values_of_captured_variables() -> None:
    """A captured variable has the value of the first application, also after it has been reassigned."""
    limit = 4
    high = Filter(Score, lambda s: s.points > limit) >> CombineGlobally(Count())
    first = SCORES >> high
    limit = 6
    again = SCORES >> high
    assert [node.analyses for node in nodes_of(first.node) if isinstance(node, ElementWise)] == [
        node.analyses for node in nodes_of(again.node) if isinstance(node, ElementWise)
    ]


def test_an_application_takes_fewer_calls_than_methods() -> None:
    """To apply forty transforms that are composed once takes less work than to call forty methods."""
    windows = FixedWindows(timedelta(minutes=1))

    def methods() -> object:
        points = SCORES.key_by(lambda s: s.team).map_values(lambda s: s.points)
        for _ in range(13):
            points = points.window(windows).combine_per_key(Sum()).filter(is_low)
        return points

    composed = KeyBy(Score, lambda s: s.team) >> MapValues(KV[str, Score], lambda s: s.points)
    for _ in range(13):
        composed = composed >> WindowInto(windows) >> CombinePerKey(Sum()) >> Filter(is_low)
    assert count_calls(lambda: SCORES >> composed) < count_calls(methods) / 2


def test_a_long_composition_is_not_deep() -> None:
    """A composition of a thousand operations of unknown elements is applied without recursion."""
    whole = Filter(is_low)
    for _ in range(1000):
        whole = whole >> Filter(is_low)
    node = (POINTS >> whole).node
    assert isinstance(node, ElementWise)
    assert len(node.steps) == 1003


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (1, "these are 1 of 2 inputs"),
        (3, "these are 3 of 2 inputs"),
    ],
)
def test_another_number_of_inputs_is_an_error_of_the_application(number: int, message: str) -> None:
    """The error has the name of the transform, what it takes, what it got, and how many inputs these are."""
    with pytest.raises(ArgumentError) as error:
        (POINTS,) * number >> means  # type: ignore[operator]
    assert str(error.value).startswith(
        "the input of transform 'means' must be a tuple (a collection of KV[str, int], "
        "a collection of KV[str, int]); got ("
    )
    assert str(error.value).endswith(message)


def test_a_mismatch_in_a_composition_is_an_error_when_it_is_built() -> None:
    """Compositions are checked when they are built: the number of collections, and the shape of each."""
    with pytest.raises(
        ArgumentError, match=r"the input of transform 'means' must be .* these are 1 of 2 inputs"
    ):
        SUM >> means  # type: ignore[operator]
    with pytest.raises(ArgumentError, match=r"input 2 of transform 'means' must be .* its elements are int"):
        (SUM & Input(int)) >> means  # type: ignore[operator]
    with pytest.raises(ArgumentError, match="the input of transform 'sum' must be a PCollection; got"):
        (SUM & SUM) >> SUM  # type: ignore[operator]
    with pytest.raises(TypeError, match="unsupported operand"):
        SUM & 3  # type: ignore[operator]
    with pytest.raises(TypeError, match="unsupported operand"):
        SUM >> 3  # type: ignore[operator]
    with pytest.raises(TypeError, match="unsupported operand"):
        POINTS >> 3  # type: ignore[operator]
