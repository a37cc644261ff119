"""Pipelines with dead letters: steps before each grouping remove the elements that the grouping could not take.

A grouping calls user-defined functions of one element: those that assign its windows, that a trigger applies to it, and
that the combiner applies to it. By the law ``add(a, v) = merge(a, add(zero(), v))`` the last is ``add(zero(), v)``, so
whatever raises afterwards is a merge, which belongs to no element. With an *admission*, a filter that calls these
functions and emits the element, only element-wise steps can fail because of an element (SEMANTICS section 2).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import cached_property
from itertools import chain
from typing import cast

from attrs import field, frozen

from flowalg.combiners.collections import ToList, ToSet
from flowalg.combiners.core import AnyCombiner, Count, Into, Max, Mean, Min, Over, Sum, Together
from flowalg.data.errors import FlowalgError, errors_of
from flowalg.data.kv import KV
from flowalg.data.metadata import Metadata
from flowalg.data.shapes import (
    BOOLEAN,
    DAY,
    DURATION,
    FLOAT,
    INTEGER,
    TEXT,
    TIMESTAMP,
    RecordOf,
    Shape,
    TupleOf,
)
from flowalg.data.time import event_time
from flowalg.elementwise.functions import Call, require_keyed, user_function_error
from flowalg.elementwise.steps import Filter, Map
from flowalg.lifting.analysis import analyse_function, key_and_value
from flowalg.lifting.tree.expressions import TRUE, Build, Expr, Opaque, Param, Part, first_opaque
from flowalg.lifting.tree.failures import can_raise_in_engine
from flowalg.pipeline.graph import Fold, fold_all
from flowalg.pipeline.nodes import (
    CoGroupByKey,
    CombinePerKey,
    ElementWise,
    GroupingNode,
    Node,
    WithMetadata,
    WithSide,
)
from flowalg.pipeline.outputs import share_steps
from flowalg.pipeline.pcollection import PCollection
from flowalg.pipeline.side_inputs import window_read
from flowalg.triggers.syntax import AtValue, DataDrivenTrigger, leaves
from flowalg.windows.window_functions import (
    CustomWindows,
    WindowFn,
    WindowsByValue,
    are_by_key,
    assign_windows,
)

_EXACT = (BOOLEAN, INTEGER, TEXT, TIMESTAMP, DAY, DURATION)
"""The shapes of scalars that are always ordered."""


@frozen
class Admission(Filter):
    """A filter that emits each element on which the functions of a transform do not raise; ``stage`` is its label."""

    stage: str = field(default="", kw_only=True)

    @cached_property
    def label(self) -> str:
        """The label of the transform that reads the elements."""
        return self.stage

    def element_of(self, shown: object) -> object:
        """Returns the element of the transform, from what the filter receives."""
        f = cast("Call", self.function).f
        return shown[0] if isinstance(f, AdmittedAtTime) and isinstance(shown, tuple) else shown


@frozen
class Admitted:
    """Calls the functions that a grouping applies to one element, except those that assign windows."""

    label: str
    combiner: AnyCombiner | None
    observing: tuple[DataDrivenTrigger, ...]

    def __call__(self, element: object) -> bool:
        """Returns true, or raises the error of a function."""
        value = require_keyed(element, self.label).value
        with errors_of(self.label):
            for leaf in self.observing:
                _observe(leaf, value, self.label)
            if self.combiner is not None:
                _require_addable(self.combiner, value, self.label)
        return True

    def expression_of(self, element: Expr) -> Expr | None:
        """Returns true, which fails where an argument of the combiner does; ``None`` if more can raise."""
        if self.observing or self.combiner is None:
            return None
        arguments = _arguments(self.combiner, key_and_value(element)[1])
        if arguments is None:
            return None
        parts = (*arguments, TRUE)
        shapes = (part.shape for part in parts if part.shape is not None)
        return Part(Build(TupleOf(tuple(shapes)), parts), len(arguments), str(len(arguments)), BOOLEAN)


@frozen
class AdmittedAtTime:
    """Calls all functions that a grouping or side input applies to one element, which is paired with its event time."""

    label: str
    windows: WindowFn
    then: Admitted | None

    def __call__(self, element_and_time: tuple[object, datetime]) -> bool:
        """Returns true, or raises the error of a function."""
        element, time = element_and_time
        with errors_of(self.label):
            if self.then is None:
                window_read(self.windows, event_time(time))
            else:
                pair = require_keyed(element, self.label)
                assign_windows(self.windows, event_time(time), pair.key, pair.value)
        return self.then is None or self.then(element)


def admit(outputs: Mapping[str, PCollection[object]]) -> dict[str, PCollection[object]]:
    """Returns pipelines whose groupings and side inputs receive only the elements that they can take.

    Results stay the same where no function raises. A step that several chains share is one node, so that an element on
    which it fails is one dead letter.
    """
    roots = share_steps([collection.node for collection in outputs.values()])
    return dict(zip(outputs, map(PCollection[object], fold_all(roots, _admitting)), strict=True))


def _admitting(node: Node, of: Fold[Node, Node]) -> Node:
    inputs = tuple(map(of, node.inputs))
    match node:
        case ElementWise(steps=steps):
            return ElementWise(inputs[0], steps)  # a chain after a shared one stays apart
        case CombinePerKey() | CoGroupByKey():
            return node.with_inputs([_before_grouping(node, inner) for inner in inputs])
        case WithSide():
            return node.with_inputs([_before_side_input(node, inner) for inner in inputs])
        case _:
            return node.with_inputs(inputs) if inputs else node


def _before_grouping(node: GroupingNode, inner: Node) -> Node:
    windowing = node.windowed_by
    observing = tuple(
        leaf for leaf in leaves(windowing.strategy.trigger) if isinstance(leaf, DataDrivenTrigger)
    )
    shape = inner.shape
    value = shape.fields[1].shape if isinstance(shape, RecordOf) and shape.cls is KV else None
    adds = not isinstance(node, CoGroupByKey) and _may_fail(node.combiner, value)
    admitted = Admitted(node.label, node.combiner if adds else None, observing)
    windows = windowing.strategy.windows
    if windowing.fresh and _calls_user_code(windows):
        return _at_time(inner, AdmittedAtTime(node.label, windows, admitted))
    if not observing and not adds:
        return inner
    return ElementWise(inner, (Admission(Call(admitted), node.label, stage=node.label),))


def _before_side_input(node: WithSide, inner: Node) -> Node:
    windowing = node.side.windowing
    windows = windowing.strategy.windows
    if not _calls_user_code(windows) or (inner is node.side and not windowing.fresh):
        return inner
    return _at_time(inner, AdmittedAtTime(node.label, windows, None))


def _at_time(inner: Node, admitted: AdmittedAtTime) -> Node:
    """Returns the elements that are admitted with their event times."""
    admission = Admission(Call(admitted), admitted.label, stage=admitted.label)
    paired = WithMetadata(inner, Metadata.EVENT_TIME)
    return ElementWise(paired, (admission, Map(Call(_element), "with_event_time")))


_element = lambda element_and_time: element_and_time[0]  # noqa: E731  # a lambda, since engines lift it


def _calls_user_code(windows: WindowFn) -> bool:
    return are_by_key(windows) or isinstance(windows, CustomWindows | WindowsByValue)


def _may_fail(combiner: AnyCombiner, value: Shape | None) -> bool:
    """Returns whether adding a value of a shape may raise, as far as is known."""
    read: Expr = Opaque(None, "the type of the value is unknown", "") if value is None else Param(value)
    arguments = _arguments(combiner, read)
    return arguments is None or any(map(can_raise_in_engine, arguments))


def _arguments(combiner: AnyCombiner, value: Expr) -> tuple[Expr, ...] | None:
    """Returns the expressions that a combiner computes of a value before it adds that.

    ``None`` if one of them is opaque, or if more than computing them may raise.
    """
    match combiner:
        case Together(parts=parts):
            several = [_arguments(part, value) for part in parts]
            listed = [arguments for arguments in several if arguments is not None]
            return tuple(chain.from_iterable(listed)) if len(listed) == len(several) else None
        case Into(combiner=inner):
            return _arguments(inner, value)
        case Over(function=function, combiner=inner):
            argument = analyse_function(function, value)
            if argument.shape is None or first_opaque(argument) is not None:
                return None
            further = _arguments(inner, argument)
            return None if further is None else (argument, *further)
        case Count():
            return ()
        case Sum() | Mean():
            return () if value.shape in (INTEGER, FLOAT) else None
        case Min() | Max():
            return () if value.shape in _EXACT else None
        case ToList() | ToSet():
            return None if value.shape is None else ()
        case _:
            return None


def _observe(leaf: DataDrivenTrigger, value: object, label: str) -> None:
    match leaf:
        case AtValue(combiner=combiner):
            _require_addable(combiner, value, label)
        case _:
            leaf.keep(value, 1)


def _require_addable(combiner: AnyCombiner, value: object, label: str) -> None:
    """Adds a value to the accumulator of no values; an error of a user-defined class is a ``UserFunctionError``."""
    try:
        combiner.add(combiner.zero(), value)
    except FlowalgError:
        raise
    except Exception as cause:
        raise user_function_error(label, combiner.add, value, cause) from cause
