"""Every part of a plan that an engine of tables cannot run, and not only the first one that stops its compilation.

Lowering a node needs the shapes of its inputs and raises at the first part that has none. The pass here is a fold of
shapes, without data: a node whose shape is unknown is one unsupported part, and what depends on it is skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import ParamSpec, TypeVar, assert_never

from attrs import define, field, frozen
from flowalg_shard.computations.stage import output_shape
from flowalg_shard.triggers.summary import SummaryColumns
from returns.result import Failure, Result, Success, safe

from flowalg.combiners.core import Over, component_combiners
from flowalg.data.errors import FlowalgError, UnsupportedError
from flowalg.data.shapes import RecordOf, Shape, TupleOf, kv_of
from flowalg.elementwise.steps import Step
from flowalg.lifting.analysis import analyse
from flowalg.lifting.tree.expressions import first_opaque
from flowalg.pipeline.graph import Fold, fold_all
from flowalg.pipeline.joins import JoinKind
from flowalg.pipeline.nodes import CombinePerKey, GroupingNode
from flowalg.pipeline.outputs import require_outputs
from flowalg.pipeline.pcollection import PCollection
from flowalg.plan import nodes as planned
from flowalg.plan.nodes import PlanNode
from flowalg.plan.plan import Plan
from flowalg.watermarks import WatermarkPolicy
from flowalg_columns.checks.shapes import (
    require_equal_shapes,
    require_exact_pairs,
    require_one_key,
    result_shape,
    shape_with_side,
    unknown_function_result,
)
from flowalg_columns.checks.stages import require_accumulators, require_state, result_pair
from flowalg_columns.checks.streams import require_lateness, require_observable
from flowalg_columns.combiners import argument_of, may_be_native

P = ParamSpec("P")
R = TypeVar("R")


@frozen
class Requirements:
    """What an engine, by its name in messages, requires of a plan.

    An engine that ``streams`` has triggers. With ``lateness`` it needs an allowed lateness of each finite window, and
    ``observed`` has the watermark policies that must not know the future, by the names of their sources.
    """

    engine: str
    streams: bool = False
    lateness: bool = False
    observed: Mapping[str, WatermarkPolicy] = field(factory=dict)

    def require_observable(self, source: str) -> None:
        """Raises ``UnsupportedError`` if the watermark policy of a source must know the future."""
        if source in self.observed:
            require_observable(self.observed[source], source)


def check_outputs(
    outputs: PCollection[object] | Mapping[str, PCollection[object]],
    plan: Callable[[Mapping[str, PCollection[object]]], Plan],
    requirements: Requirements,
) -> Result[Plan, UnsupportedError]:
    """Returns the plan of a pipeline, or of named outputs, or the error that has each part that an engine cannot run.

    ``plan`` returns the plan that the engine makes of named outputs.
    """
    plan_outputs = safe(exceptions=(UnsupportedError,))(lambda: plan(require_outputs(outputs)))
    return plan_outputs().bind(lambda made: check_plan(made, requirements))


def check_plan(plan: Plan, requirements: Requirements) -> Result[Plan, UnsupportedError]:
    """Returns a plan that an engine can run, or the error that has each part that the engine cannot run, in order."""
    parts = _Parts(requirements)
    fold_all(tuple(plan.outputs.values()), parts)
    found = tuple(parts.found.values())
    return Failure(UnsupportedError.of(*found)) if found else Success(plan)


@contextmanager
def reporting_all_parts(plan: Plan, requirements: Requirements) -> Iterator[None]:
    """Adds to an ``UnsupportedError`` of compiling a plan all other parts that the engine cannot run.

    An error that only the compilation detects, such as one of a Spark session, is before those of the plan.
    """
    try:
        yield
    except UnsupportedError as first:
        of_plan = first
        # A step that is invalid in another way ends the pass; its error is raised when it is the first.
        with suppress(FlowalgError):
            of_plan = check_plan(plan, requirements).swap().value_or(first)
        others = {str(part) for part in of_plan.parts}
        whole = UnsupportedError.of(*(part for part in first.parts if str(part) not in others), of_plan)
        if len(whole.parts) == len(first.parts):
            raise
        raise whole from first.__cause__


@define
class _Parts:
    """The parts of a plan that an engine cannot run, and the shape of each node; ``None`` if it is unknown.

    A part is known by what the user changes: groupings of one ``window(...)`` without a lateness are one part.
    """

    requires: Requirements
    found: dict[Hashable, UnsupportedError] = field(factory=dict)

    def keep(self, error: UnsupportedError, part: Hashable = None) -> None:
        """Adds the error of a part, unless the part has one. A part is its message, unless it has another identity."""
        self.found.setdefault(str(error) if part is None else part, error)

    def attempt(self, check: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R | None:
        """Returns what a check returns, or ``None`` if it raises the error of a part, which is added."""
        try:
            return check(*args, **kwargs)
        except UnsupportedError as error:
            self.keep(error)
            return None

    def __call__(self, node: PlanNode, shape: Fold[PlanNode, Shape | None]) -> Shape | None:
        inputs = tuple(map(shape, node.inputs))
        match node:
            case planned.Read(source=source):
                self.attempt(self.requires.require_observable, source.name)
                return source.shape
            case planned.Apply(steps=steps):
                return self.after(steps, inputs[0])
            case planned.PairWithMetadata(metadata=metadata):
                return None if inputs[0] is None else TupleOf((inputs[0], metadata.shape))
            case planned.Combine(transform=transform):
                pairs, result = self.pairs(transform, inputs), self.combined(transform, inputs[0])
                if self.requires.streams:
                    self.attempt(require_accumulators, transform)
                self.check_windows(transform)
                return None if pairs is None else result
            case planned.CoGroup(transform=transform):
                pairs = self.pairs(transform, inputs)
                self.check_windows(transform)
                return None if pairs is None else transform.shape
            case planned.JoinByKey(transform=transform, kind=kind):
                pairs = self.pairs(transform, inputs)
                return None if pairs is None else _joined(kind, *pairs)
            case planned.ExplodeLists(input=lists, kind=kind):
                left, right = map(shape, lists.inputs)
                if inputs[0] is None or not isinstance(left, RecordOf) or not isinstance(right, RecordOf):
                    return None
                return _joined(kind, left, right)
            case planned.Union():
                return self.united(inputs)
            case planned.FanOut(chains=chains):
                return self.united([self.after(steps, inputs[0]) for steps in chains])
            case planned.ReadSide(transform=transform, steps=steps):
                main, side = inputs
                if main is None or side is None:
                    return self.after(steps, None)
                return self.after(steps, self.attempt(shape_with_side, main, side, transform.view))
            case planned.Compute(transform=transform):
                if inputs[0] is None:
                    return None
                pair = self.attempt(require_exact_pairs, inputs[0], transform.label)
                self.attempt(require_state, transform)
                outputs = self.attempt(output_shape, transform)
                return None if pair is None else outputs
        assert_never(node)

    def after(self, steps: Sequence[Step], before: Shape | None) -> Shape | None:
        """Returns the shape after a chain of steps. After an unknown shape, an annotated function has a known one."""
        analyses = analyse(tuple(steps), before)
        if before is None and all(analysis.after is None for analysis in analyses):
            return None
        return self.attempt(result_shape, self.requires.engine, analyses, before)

    def check_windows(self, node: GroupingNode) -> None:
        """Checks the trigger of a grouping, and its windows, which groupings after it have too."""
        strategy = node.windowed_by.strategy
        if self.requires.streams:
            self.attempt(SummaryColumns.of, strategy.trigger)
        if self.requires.lateness:
            try:
                require_lateness(node.label, strategy)
            except UnsupportedError as error:
                self.keep(error, id(node.inputs[0].windowing.strategy))

    def pairs(self, node: GroupingNode, inputs: Sequence[Shape | None]) -> tuple[RecordOf, ...] | None:
        """Returns the shapes of the pairs of each input of a grouping; ``None`` unless all of them are known."""
        pairs = [
            pair
            for elements in inputs
            if elements is not None
            and (pair := self.attempt(require_exact_pairs, elements, node.label)) is not None
        ]
        if len(pairs) < len(inputs) or self.attempt(require_one_key, pairs, node.label) is None:
            return None
        return tuple(pairs)

    def combined(self, node: CombinePerKey, elements: Shape | None) -> Shape | None:
        """Returns the shape of a key with the result of a combiner."""
        if not isinstance(elements, RecordOf) or len(elements.fields) != 2:
            return None
        result = self.attempt(result_pair, node, elements)
        parts = component_combiners(node.combiner)
        if result is not None and not self.requires.streams and all(map(may_be_native, parts)):
            for part in parts:
                argument = argument_of(part, elements.fields[1].shape)
                if isinstance(part, Over) and argument.shape is None:
                    opaque = first_opaque(argument)
                    self.keep(unknown_function_result(self.requires.engine, part.label, opaque))
        return result

    def united(self, shapes: Sequence[Shape | None]) -> Shape | None:
        """Returns the shape of a union, which all inputs of a known shape have."""
        known = [shape for shape in shapes if shape is not None]
        self.attempt(require_equal_shapes, known)
        return known[0] if known and all(shape == known[0] for shape in known) else None


def _joined(kind: JoinKind, left: RecordOf, right: RecordOf) -> Shape:
    """Returns the shape of what a join emits: pairs of values, or the left ones that it selects."""
    key, value = (part.shape for part in left.fields)
    if kind is JoinKind.EXCEPT:
        return value
    return left if kind.selects else kv_of(key, kind.shape(value, right.fields[1].shape))
