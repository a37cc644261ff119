"""Plans: what an engine computes for outputs, generated ones and those that engines compute in their own way.

These tests catch a node that is planned twice or left out, a step that is lost or moved past another one, and a reader
that is not counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from itertools import filterfalse, product
from typing import Final, TypeAlias

import pytest
from flowalg_laws.kit.readings import READINGS, VALUES, Reading
from flowalg_laws.strategies.pipelines import pipelines, process_in_order
from hypothesis import given
from hypothesis import strategies as st
from returns.result import Failure, Result, Success

from flowalg import FOREVER, KV, Count, FixedWindows, PCollection, PTransform, Sessions, Source, Sum, flatten
from flowalg.elementwise.functions import user_call
from flowalg.elementwise.steps import Step
from flowalg.errors import UnsupportedError
from flowalg.lifting.members import Widen
from flowalg.pipeline.graph import nodes_of
from flowalg.pipeline.nodes import CombinePerKey, ElementWise, GroupingNode, Hole, Process, WithSide
from flowalg.pipeline.structure import sources_read_together
from flowalg.plan.nodes import (
    Apply,
    CoGroup,
    Combine,
    Compute,
    ExplodeLists,
    FanOut,
    JoinByKey,
    PlanNode,
    Read,
    ReadSide,
    StageNode,
    Union,
)
from flowalg.plan.plan import Plan, plan_batch, plan_stream

Outputs: TypeAlias = Mapping[str, PCollection[object]]


def parity(pair: KV[str, int]) -> Result[KV[str, int], KV[str, int]]:
    """Succeeds for even values."""
    return Success(pair) if pair.value % 2 == 0 else Failure(pair)


def sixth(pair: KV[str, int]) -> bool:
    """Whether a value is a multiple of six."""
    return pair.value % 6 == 0


READINGS_ELSEWHERE: Final = Source("elsewhere", Reading, event_time=lambda reading: reading.at)
HOUR: Final = timedelta(hours=1)
WINDOWED: Final = VALUES.window(FixedWindows(timedelta(minutes=5)), allowed_lateness=FOREVER)
SUMS: Final = WINDOWED.combine_per_key(Sum())
COUNTS: Final = WINDOWED.combine_per_key(Count())
EVEN, ODD = VALUES.split(parity)
JOINED: Final = SUMS.inner_join(COUNTS)
WITH_COUNTS: Final = SUMS.with_side(COUNTS.as_map())
BRANCHES: Final = flatten(WINDOWED.filter(sixth), WINDOWED.map_values(lambda value: 6 * value))
OTHERS: Final[Outputs] = {
    "join": JOINED.map_values(lambda pair: pair[0] * pair[1]),
    "the same join": JOINED.filter(lambda joined: joined.value[0] > joined.value[1]),
    "join of optional keys": SUMS.map(lambda pair: KV(pair.key if pair.value else None, 1)).full_join(
        COUNTS.map(lambda pair: KV(pair.key if pair.value else None, 2))
    ),
    "co-group": SUMS.co_group_by_key(COUNTS),
    "side": WITH_COUNTS.map(lambda read: KV(read[0].key, read[1][read[0].key])),
    "branches": BRANCHES.combine_per_key(Sum()),
    "parts of a split": flatten(EVEN.filter(sixth), ODD),
    "elements": READINGS.filter(lambda reading: reading.value > 0),
}
PLANNERS: Final[dict[str, Callable[[Outputs], Plan]]] = {
    "batch": plan_batch,
    "batch with dead letters": lambda outputs: plan_batch(outputs, dead_letters=True),
    "stream": plan_stream,
    "stream of a tree": lambda outputs: plan_stream(outputs, most_paths=1),
    "stream with dead letters": lambda outputs: plan_stream(outputs, dead_letters=True),
}
planners = st.sampled_from(list(PLANNERS.values()))


@st.composite
def outputs(draw: st.DrawFn) -> Outputs:
    """Returns a generated output and some others."""
    names = draw(st.lists(st.sampled_from(list(OTHERS)), unique=True))
    return {"generated": draw(pipelines()), **{name: OTHERS[name] for name in names}}


def kinds(plan: Plan) -> Counter[type]:
    """Returns how many nodes of each kind a plan has."""
    return Counter(map(type, plan.nodes))


def chains(nodes: Sequence[PlanNode]) -> list[tuple[Step, ...]]:
    """Returns the chains of steps of some nodes."""
    single_chains = [node.steps for node in nodes if isinstance(node, Apply | ReadSide)]
    return [*single_chains, *(chain for node in nodes if isinstance(node, FanOut) for chain in node.chains)]


@given(outputs(), planners)
def test_a_node_comes_once_after_its_inputs(outputs: Outputs, planner: Callable[[Outputs], Plan]) -> None:
    """Each node is in the plan once, after those that it reads, and each output is one of the nodes."""
    plan = planner(outputs)
    assert list(plan.outputs) == list(outputs)
    assert set(plan.outputs.values()) <= set(plan.nodes)
    visited: set[PlanNode] = set()
    for node in plan.nodes:
        assert node not in visited
        assert set(node.inputs) <= visited
        visited.add(node)


@given(outputs(), planners)
def test_readers_are_the_nodes_that_name_a_node_and_outputs(
    outputs: Outputs, planner: Callable[[Outputs], Plan]
) -> None:
    """A node has as many readers as there are nodes that have it as an input, and outputs that it gives."""
    plan = planner(outputs)
    for node in plan.nodes:
        reading = sum(reader.inputs.count(node) for reader in plan.nodes)
        assert plan.readers[node] == reading + list(plan.outputs.values()).count(node) > 0


@given(outputs(), planners)
def test_upstreams_are_the_nearest_sources_and_stages(
    outputs: Outputs, planner: Callable[[Outputs], Plan]
) -> None:
    """A source or a stage is its own upstream, and any other node has those of its inputs, each once, in order."""
    plan = planner(outputs)
    for node in plan.nodes:
        own = isinstance(node, Read | StageNode)
        several = dict.fromkeys(upstream for inner in node.inputs for upstream in plan.upstreams(inner))
        assert plan.upstreams(*node.inputs) == tuple(several)
        assert plan.upstreams(node) == ((node,) if own else tuple(several))


def test_the_stages_of_an_output_are_read_again_by_later_ones() -> None:
    """A source has no stage, so each output reads it by itself."""
    plan = plan_stream({"sums": SUMS, "some": SUMS.filter(sixth), "elements": OTHERS["elements"]})
    assert plan.read_again == {plan.outputs["sums"]: 1}


@given(outputs())
def test_a_stream_has_the_stages_of_its_pipelines(outputs: Outputs) -> None:
    """In order, and with their labels: an engine that computes each collection once has one stage for each node."""
    for dead_letters in (False, True):
        plan = plan_stream(outputs, dead_letters=dead_letters)
        nodes = nodes_of(*plan.roots)
        stages = [node for node in nodes if isinstance(node, GroupingNode | WithSide | Process)]
        assert [stage.transform.label for stage in plan.stages] == [node.label for node in stages]
        assert plan.stages == tuple(node for node in plan.nodes if isinstance(node, StageNode))
        assert plan.read_by_stages >= {inner for stage in plan.stages for inner in stage.inputs}


@given(outputs())
def test_stages_are_known_by_their_names(outputs: Outputs) -> None:
    """Each transform has a name of its own that begins with its label, and the same however it is planned."""
    names: list[list[str]] = []
    for dead_letters, most_paths in product((False, True), (None, 1)):
        plan = plan_stream(outputs, dead_letters=dead_letters, most_paths=most_paths)
        of_transforms = {stage.transform: plan.stage_names[stage] for stage in plan.stages}
        assert len(set(of_transforms.values())) == len(of_transforms)
        assert all(name.startswith(transform.label) for transform, name in of_transforms.items())
        names.append(list(of_transforms.values()))
    assert all(others == names[0] for others in names)


def test_the_second_stage_with_a_label_has_a_number() -> None:
    """So has the third. A transform with a name of its own has a label of its own."""
    counts = PTransform.of(KV[str, int], lambda values: values.combine_per_key(Count()), name="users")
    outputs = {
        "a": WINDOWED.combine_per_key(Count()),
        "b": counts(WINDOWED),
        "c": WINDOWED.combine_per_key(Count()),
        "d": COUNTS.filter(lambda pair: pair.value > 1),
    }
    names = list(plan_stream(outputs).stage_names.values())
    label = "combine_per_key(Count)"
    assert names == [label, f"users/{label}", f"{label} #2", f"{label} #3"]


@given(outputs())
def test_a_stream_has_the_steps_of_its_pipelines(outputs: Outputs) -> None:
    """Each step is in as many chains as in the pipelines."""
    plan = plan_stream(outputs)
    read = [node.steps for node in nodes_of(*plan.roots) if isinstance(node, ElementWise)]
    assert Counter(filterfalse(widens, chains(plan.nodes))) == Counter(read)


def widens(steps: tuple[Step, ...]) -> bool:
    """Returns whether a chain only converts the elements of an input of a union to the sum of all inputs."""
    return all(isinstance(user_call(step.function).f, Widen) for step in steps)


@given(outputs(), planners)
def test_sources_are_read_once(outputs: Outputs, planner: Callable[[Outputs], Plan]) -> None:
    """One node reads each source, and the plan has the sources that are read together."""
    plan = planner(outputs)
    assert list(plan.sources.values()) == [node for node in plan.nodes if isinstance(node, Read)]
    assert {name: node.source.name for name, node in plan.sources.items()} == {"readings": "readings"}
    assert plan.read_together == sources_read_together(*plan.roots)


@given(outputs(), st.booleans())
def test_with_dead_letters_no_step_moves_into_another_node(outputs: Outputs, streams: bool) -> None:
    """An element on which a step fails is one bad record: no chain is computed in a fan-out or with a side input."""
    plan = (plan_stream if streams else plan_batch)(outputs, dead_letters=True, most_paths=1)
    assert not kinds(plan)[FanOut]
    assert not any(node.steps for node in plan.nodes if isinstance(node, ReadSide))


def test_a_join_of_a_batch_emits_its_pairs_by_itself() -> None:
    """The step that emits them is left out, and two chains after one join read one node; a stream has the lists."""
    joins = {name: OTHERS[name] for name in ("join", "the same join")}
    plan = plan_batch(joins)
    assert kinds(plan) == {Read: 1, Apply: 3, Combine: 2, JoinByKey: 1}
    (join,) = (node for node in plan.nodes if isinstance(node, JoinByKey))
    assert plan.readers[join] == 2
    stream = plan_stream(joins)
    assert kinds(stream)[CoGroup] == 1
    assert not kinds(stream)[JoinByKey]


def test_a_join_of_windows_that_merge_has_the_lists_of_a_co_group_in_a_batch() -> None:
    """Only the values of both sides together have such a window."""
    sessions = VALUES.window(Sessions(timedelta(minutes=5)))
    kinds_of_plan = kinds(plan_batch({"output": sessions.inner_join(sessions)}))
    assert kinds_of_plan[CoGroup] == kinds_of_plan[ExplodeLists] == 1
    assert not kinds_of_plan[JoinByKey]


def test_a_join_whose_keys_may_be_none_is_a_co_group_in_a_batch() -> None:
    """The steps after it know the keys, and give each pair its event time."""
    plan = plan_batch({"output": OTHERS["join of optional keys"]})
    (group,) = (node for node in plan.nodes if isinstance(node, CoGroup))
    assert group.transform.timed is (group.transform.pair_times is not None)
    assert not kinds(plan)[JoinByKey]


def test_a_side_input_is_read_with_the_steps_after_it() -> None:
    """Unless another reads it too: a stream would drop its late elements twice, and a batch may compute it again."""
    alone = {"side": OTHERS["side"]}
    shared = {**alone, "count": WITH_COUNTS.map(lambda read: len(read[1]))}
    for several, planner, count, steps in (
        (alone, PLANNERS["stream"], 1, 1),
        (shared, PLANNERS["stream"], 1, 0),
        (shared, PLANNERS["stream of a tree"], 1, 0),
        (shared, PLANNERS["batch"], 2, 1),
    ):
        side_reads = [node for node in planner(several).nodes if isinstance(node, ReadSide)]
        assert [len(node.steps) for node in side_reads] == count * [steps]


def test_branches_of_one_collection_are_one_pass_beyond_a_number_of_paths() -> None:
    """A flatten with more paths than an engine allows is one pass over its collection; without a limit, a union."""
    both = {"branches": OTHERS["branches"]}
    for most_paths, kind in ((1, FanOut), (2, Union), (None, Union)):
        counts = kinds(plan_stream(both, most_paths=most_paths))
        assert (counts[FanOut], counts[Union]) == ((1, 0) if kind is FanOut else (0, 1))
    (fan_out,) = (node for node in plan_batch(both).nodes if isinstance(node, FanOut))
    assert [branch.inputs for branch in fan_out.branches] == [fan_out.inputs, fan_out.inputs]


def test_the_function_of_a_split_is_one_node() -> None:
    """With dead letters it runs once for both parts, so that an element on which it fails is one bad record."""
    for planner in (plan_batch, plan_stream):
        plan = planner({"both": OTHERS["parts of a split"]}, dead_letters=True)
        steps = [step for chain in chains(plan.nodes) for step in chain]
        calls = [step for step in steps if user_call(step.function).f is parity]
        assert len(calls) == 1


def test_a_computation_knows_its_sources() -> None:
    """The nodes of the sources that its elements come from, each once, in order; whatever is read beside them."""
    others = READINGS_ELSEWHERE.key_by(lambda reading: reading.key).map_values(lambda reading: reading.value)
    several = {"first": process_in_order(VALUES), "both": process_in_order(flatten(others, VALUES, others))}
    for planner in PLANNERS.values():
        plan = planner(several)
        first, both = (node for node in plan.nodes if isinstance(node, Compute))
        assert first.sources == (plan.sources["readings"],)
        assert both.sources == (plan.sources["elsewhere"], plan.sources["readings"])


def test_outputs_that_no_engine_runs_are_rejected() -> None:
    """The body of a transform has no input, and an output is panes or elements."""
    sums = PTransform.of(KV[str, int], lambda values: values.combine_per_key(Sum()))
    for planner in (plan_batch, plan_stream):
        with pytest.raises(UnsupportedError, match="has no input yet; apply the transform to a collection"):
            planner({"output": sums(PCollection(Hole(None)))})
        with pytest.raises(UnsupportedError, match="the output mixes panes of"):
            planner({"output": flatten(SUMS.window(FixedWindows(HOUR)), VALUES.window(FixedWindows(HOUR)))})


def test_a_plan_has_the_pipelines_as_they_run() -> None:
    """An output of panes is known as such, also where a filter removes what a grouping could not take."""
    outputs = {"sums": SUMS, "values": VALUES}
    for planner in PLANNERS.values():
        plan = planner(outputs)
        assert [plan.emits_panes(name) for name in outputs] == [True, False]
        assert [type(pipeline.node) for pipeline in plan.pipelines.values()] == [CombinePerKey, ElementWise]
