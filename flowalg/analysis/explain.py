"""Explains a pipeline as text: the type after each step, when windows fire, and the hazards."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import groupby
from typing import Final, Never, assert_never

from attrs import define, evolve, field, frozen

from flowalg.analysis.hazards import Danger, Hazard, hazards
from flowalg.computations.computation import Late
from flowalg.computations.library import EmitFirst, built_in
from flowalg.data.durations import length_in_words
from flowalg.data.errors import format_value
from flowalg.data.shapes import Shape
from flowalg.data.views import HasView
from flowalg.elementwise.functions import user_call
from flowalg.elementwise.steps import Scope
from flowalg.lifting.analysis import StepAnalysis
from flowalg.lifting.members import Narrow
from flowalg.lifting.outcomes import Is, ValueOf
from flowalg.pipeline.accumulation import resolve_accumulation
from flowalg.pipeline.graph import count_readers, nodes_of
from flowalg.pipeline.joins import is_of_join
from flowalg.pipeline.nodes import (
    CoGroupByKey,
    CombinePerKey,
    ElementWise,
    Flatten,
    GroupingNode,
    Hole,
    Node,
    Process,
    SourceNode,
    WindowInto,
    WithMetadata,
    WithSide,
    named,
)
from flowalg.pipeline.pcollection import PCollection
from flowalg.pipeline.ptransform import Bundle, PTransform, roots
from flowalg.pipeline.side_inputs import AsMap, LatestComplete, Singleton, View
from flowalg.triggers.describe import describe
from flowalg.windows.strategy import Accumulation, AllowedLateness, WindowingStrategy


@frozen
class Line:
    """A line of an explanation, with the lines under it. ``is_transform`` marks a named transform."""

    text: str
    children: tuple[Line, ...] = ()
    is_transform: bool = False


class PipelineText(HasView, str):
    """The text of ``explain``, which a notebook displays as a tree of ``lines`` with the ``hazards``."""

    lines: tuple[Line, ...] = ()
    hazards: tuple[str, ...] = ()


def explain(pipeline: PCollection[object] | PTransform[Never, Bundle]) -> str:
    """Returns a pipeline as text: from its sources on a line for each step, with the type of its output, and hazards.

    Of a transform with several outputs, each is explained under its number. A named transform is one line, with its
    steps indented under it. A collection that several others read is written once and numbered, ``(1)``. Windows show
    when they fire. A function that Spark does not run as columns shows why, and where in the code. A notebook displays
    the text as a tree.

    Example:

    >>> print(explain(points))
    scores: Score
    > key_by(<lambda> at ...): KV[str, Score]
    > map_values(<lambda> at ...): KV[str, int]
    """
    # That a function runs in Python is said at its step.
    warnings = tuple(str(hazard) for hazard in hazards_of(pipeline) if hazard.danger is not Danger.PYTHON)
    lines = explanation(pipeline)
    text = PipelineText("\n".join((*_indented(lines), *(f"! {hazard}" for hazard in warnings))))
    text.lines, text.hazards = lines, warnings
    return text


def hazards_of(pipeline: PCollection[object] | PTransform[Never, Bundle]) -> tuple[Hazard, ...]:
    """Returns the hazards of a pipeline, or of all outputs of a transform, each once."""
    return tuple(dict.fromkeys(hazard for output in _outputs(pipeline) for hazard in hazards(output)))


def _outputs(pipeline: PCollection[object] | PTransform[Never, Bundle]) -> list[PCollection[object]]:
    if isinstance(pipeline, PTransform):
        return list(map(PCollection[object], roots(pipeline.outputs)))
    return [pipeline]


def explanation(pipeline: PCollection[object] | PTransform[Never, Bundle]) -> tuple[Line, ...]:
    """Returns the lines of ``explain`` as a tree, without the hazards."""
    lines = [_explained(output.node) for output in _outputs(pipeline)]
    if len(lines) == 1:
        return lines[0]
    return tuple(Line(f"output {number}:", inner) for number, inner in enumerate(lines, start=1))


def _explained(node: Node) -> tuple[Line, ...]:
    root = resolve_accumulation(node)
    readers = count_readers(root)
    shared = [node for node in nodes_of(root) if readers[id(node)] > 1 and node.inputs]
    return _boxed(_Writer({id(node): f"({number})" for number, node in enumerate(shared, start=1)}).of(root))


@frozen
class _Entry:
    """A step of a pipeline: its enclosing transforms, its text, the type after it, and its input branches."""

    scope: Scope
    text: str
    after: str
    shows_type: bool = True
    remark: str = ""
    details: tuple[Line, ...] = ()
    branches: tuple[tuple[str, tuple[_Entry, ...]], ...] = ()

    def line(self, depth: int) -> Line:
        """Returns the line of the entry; ``depth`` is the number of enclosing transforms."""
        inner = [
            Line(f"{mark}{first.text}", first.children + tuple(rest), first.is_transform)
            for mark, entries in self.branches
            for first, *rest in [_boxed(entries, depth)]
        ]
        kind = f": {self.after}" if self.shows_type else ""
        return Line(f"{self.text}{kind}{self.remark}", (*self.details, *inner))


@define
class _Writer:
    """Writes the entries of each node once; ``names`` has the names of shared nodes."""

    names: Mapping[int, str]
    written: set[int] = field(factory=set)

    def of(self, node: Node) -> tuple[_Entry, ...]:
        """Returns the entries of the pipeline that ends with a node."""
        name = self.names.get(id(node))
        if name is None:
            return self.entries(node)
        if id(node) in self.written:
            return (_Entry((), name, "", shows_type=False),)
        self.written.add(id(node))
        *before, last = self.entries(node)
        return (*before, evolve(last, remark=f"{last.remark}  {name}"))

    def entries(self, node: Node) -> tuple[_Entry, ...]:
        """Returns the entries of the pipeline that ends with a node, even if the node has been written."""
        after = _type(node.shape)
        match node:
            case SourceNode(name=name):
                return (_Entry((), name, after),)
            case Hole(number=number):
                return (_Entry((), "input" if number == 1 else f"input {number}", after),)
            case ElementWise(input=inner, analyses=analyses):
                return (*self.of(inner), *_steps(analyses))
            case WithMetadata(input=inner, metadata=metadata):
                return (*self.of(inner), _Entry(node.scope, f"> {metadata.value}()", after))
            case WindowInto(input=inner, strategy=strategy):
                details = tuple(map(Line, _strategy(strategy)))
                text = f"> window({strategy.windows})"
                return (*self.of(inner), _Entry(node.scope, text, after, False, details=details))
            case CombinePerKey(input=inner):
                text = f"> {_own_label(node)}"
                return (*self.of(inner), _Entry(node.scope, text, after, details=(_mode(node),)))
            case CoGroupByKey(inputs=inputs):
                branches = tuple((_BRANCH, self.of(inner)) for inner in inputs)
                return (
                    _Entry(node.scope, _own_label(node), after, details=(_mode(node),), branches=branches),
                )
            case Flatten(inputs=inputs):
                branches = tuple((_BRANCH, self.of(inner)) for inner in inputs)
                return (_Entry(node.scope, "flatten", after, False, branches=branches),)
            case WithSide(input=inner, side=side, view=view):
                before = self.of(inner)
                text = f"> with the {_kind_of(view)} of a side input"
                return (*before, _Entry(node.scope, text, after, branches=(("", self.of(side)),)))
            case Process(input=inner):
                details = tuple(map(Line, _computation(node)))
                return (*self.of(inner), _Entry(node.scope, f"> {_own_label(node)}", after, details=details))
        assert_never(node)


def _kind_of(view: View) -> str:
    match view:
        case Singleton():
            return "value"
        case AsMap():
            return "mapping"
        case LatestComplete(view=inner):
            return f"latest complete {_kind_of(inner)}"
    assert_never(view)


def _mode(node: GroupingNode) -> Line:
    """Returns the line that says how the panes of a grouping relate."""
    return Line(f"each pane is {_MODES[node.windowed_by.strategy.mode]}")


def _computation(node: Process) -> Iterator[str]:
    late = "dropped" if node.late is Late.DROP else "observed"
    first = built_in(node.computation)
    if isinstance(first, EmitFirst) and node.late is not Late.DROP:
        late = f"dropped from {length_in_words(first.within)} behind the watermark on"
    order = "in order of event time" if node.in_order else "as they arrive"
    yield f"observes the elements of each key {order}; late elements are {late}"
    yield f"the state of a key begins with {format_value(node.computation.initial)}"


def _own_label(node: GroupingNode | Process) -> str:
    """Returns the label of a transform without its enclosing transforms."""
    return node.label.removeprefix(named(node.scope, ""))


def _boxed(entries: Sequence[_Entry], depth: int = 0) -> tuple[Line, ...]:
    """Returns lines; the lines of a transform are the children of a line with its name."""

    def box(entry: _Entry) -> str | None:
        return entry.scope[depth] if len(entry.scope) > depth else None

    lines: list[Line] = []
    for name, group in groupby(entries, key=box):
        inside = tuple(group)
        if name is None:
            lines += [entry.line(depth) for entry in inside]
        else:
            lines.append(Line(f"> {name}: {inside[-1].after}", _boxed(inside, depth + 1), is_transform=True))
    return tuple(lines)


def _indented(lines: Iterable[Line], indent: str = "") -> Iterator[str]:
    """Yields the text of lines: children are indented by four, and the start of a branch by two."""
    for line in lines:
        starts_branch = line.text.startswith(_BRANCH)
        yield f"{indent[2:] if starts_branch else indent}{line.text}"
        yield from _indented(line.children, indent if starts_branch else f"{indent}    ")


def _steps(analyses: Iterable[StepAnalysis]) -> list[_Entry]:
    """Returns the entries of a chain; the steps of one call, such as those of ``split``, are one."""
    entries: list[_Entry] = []
    for analysis in analyses:
        entry = _step(analysis)
        reads = isinstance(user_call(analysis.step.function).f, Is | ValueOf | Narrow)
        if reads and entries and entries[-1].text == entry.text:
            entry = evolve(entry, remark=entries.pop().remark or entry.remark)
        entries.append(entry)
    return entries


def _step(analysis: StepAnalysis) -> _Entry:
    step, opaque = analysis.step, analysis.opaque
    if is_of_join(step):
        # A join is shown by its method, since its function is not the user's.
        return _Entry(step.scope, f"> {step.name}", _type(analysis.after))
    text = f"> {step.label.removeprefix(named(step.scope, ''))}"
    remark = ""
    if opaque is not None:
        location = f", at {opaque.location}" if opaque.location else ""
        remark = f" (in Python: {opaque.reason}{location})"
    return _Entry(step.scope, text, _type(analysis.after), remark=remark)


def _type(shape: Shape | None) -> str:
    return "of unknown type" if shape is None else str(shape)


def _strategy(strategy: WindowingStrategy) -> Iterator[str]:
    yield f"fires {describe(strategy.trigger)}"
    yield _lateness(strategy.allowed_lateness)


def _lateness(lateness: AllowedLateness | None) -> str:
    if not isinstance(lateness, timedelta):
        return "accepts late elements indefinitely"
    if not lateness:
        return "accepts no late elements"
    return f"accepts late elements for {length_in_words(lateness)} of event time"


_BRANCH: Final = "+ "
_MODES: Final = {
    Accumulation.DISCARDING: "the elements since the last pane (discarding)",
    Accumulation.ACCUMULATING: "all elements so far, replacing the last pane (accumulating)",
    Accumulation.RETRACTING: "all elements so far, after retracting the last pane (retracting)",
}
