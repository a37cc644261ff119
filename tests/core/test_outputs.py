"""Several outputs of one run: what they have in common is one node, and a function of it is called once.

These tests catch work that is done once for each output.
"""

from __future__ import annotations

from flowalg_polars import PolarsStreaming
from flowalg_reference import Reference

from flowalg import KV, Count, Sum, Timeline
from flowalg.pipeline.graph import nodes_of
from flowalg.pipeline.nodes import ElementWise, GroupingNode, SourceNode
from flowalg.pipeline.outputs import emits_panes, resolve_outputs
from tests.support.scores import SCORES, Score, minute


def test_outputs_share_steps_and_groupings() -> None:
    """Chains that continue one chain share its steps, and a grouping that two outputs read is one node."""
    clean = SCORES.filter(lambda score: score.points > 0)
    pairs = clean.key_by(lambda score: score.team)
    counts = pairs.combine_per_key(Count())
    points = clean.map(lambda score: score.points)
    outputs = {
        "clean": clean,
        "counts": counts,
        "points": points,
        "doubled": counts.map_values(lambda n: 2 * n),
    }
    resolved = resolve_outputs(outputs)
    roots = [collection.node for collection in resolved.values()]
    nodes = list(nodes_of(*roots))
    assert [type(node) for node in nodes].count(SourceNode) == 1
    assert sum(isinstance(node, GroupingNode) for node in nodes) == 1
    chains = [node.steps for node in nodes if isinstance(node, ElementWise)]
    assert sorted(map(len, chains)) == [1, 1, 1, 1]
    assert sum(len(steps) for steps in chains) == 4
    assert [emits_panes(root) for root in roots] == [False, True, False, True]
    assert resolve_outputs({"clean": clean})["clean"] == clean


def test_a_shared_function_is_called_once_for_each_element() -> None:
    """In the reference and in the local engine, whatever the number of outputs that read its result."""
    called: list[str] = []

    def name_of(score: Score) -> str:
        called.append(score.team)
        return score.team.upper()

    named = SCORES.map(lambda score: KV(name_of(score), score.points), result=KV[str, int])
    outputs = {
        "named": named,
        "sums": named.combine_per_key(Sum()),
        "large": named.filter(lambda p: p.value > 2),
    }
    timeline = Timeline.batch([Score("a", 3, minute(0)), Score("b", 1, minute(1))], time=minute(2))
    for engine in (Reference(), PolarsStreaming()):
        called.clear()
        run = engine.run(outputs, {SCORES: timeline})
        assert sorted(called) == ["a", "b"]
        assert [(pane.element, pane.index) for pane in run["sums"].panes] == [
            (KV("A", 3), 0),
            (KV("B", 1), 0),
        ]
        assert [element.element for element in run["large"].elements] == [KV("A", 3)]
