"""The functions of computations as expressions: of the new state, of each output, and of the timer of each tag.

A function is lifted if each of its paths returns a ``Transition``, with outputs, timers and tags in displays.
Most errors of a transition are excluded here. Two kinds remain for the engine to find: a time that is not valid, and
an expression that fails. Python repeats such a call.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import FunctionType
from typing import Final

from attrs import frozen

from flowalg.computations.transition import Clocks, EventTimer, Observed, ProcessingTimer, Transition
from flowalg.data.errors import ArgumentError, describe_function, require_name
from flowalg.data.shapes import BOOLEAN, TIMESTAMP, Field, OptionalOf, RecordOf, Shape, TupleOf, optional
from flowalg.lifting.functions import lift_function
from flowalg.lifting.operations.conditionals import choose, is_assignable, widen
from flowalg.lifting.python.scope import Scope
from flowalg.lifting.syntax import lift_condition, lift_expression
from flowalg.lifting.tree.expressions import (
    FALSE,
    TRUE,
    As,
    Build,
    Choice,
    Constant,
    Each,
    Expr,
    Opaque,
    Param,
    Part,
    first_opaque,
    items_of,
    walk,
)

_TRANSITION: Final = RecordOf(Transition, ())
"""The shape of a transition. Its parts are the state and three groups: the outputs, the timers and the cleared tags."""

_SEQUENCES: Final = ("emit", "set", "clear")
_TIMERS: Final = (EventTimer, ProcessingTimer)
_OUTPUTS_AT, _TIMERS_AT, _TAGS_AT = 1, 2, 3


@frozen
class LiftedTimer:
    """What a function does to the timer of a tag: whether it sets or clears it, and when a timer that it sets fires."""

    tag: str
    of_event: bool
    touched: Expr
    at: Expr


@frozen
class LiftedOutput:
    """An output: whether there is one, and its value if there is, otherwise ``None``."""

    present: Expr
    value: Expr


@frozen
class LiftedTransition:
    """What a function returns, as expressions of one parameter, which is a tuple of its arguments.

    ``state`` is that before the call where the key is ``freed``.
    """

    arguments: TupleOf
    state: Expr
    freed: Expr
    outputs: tuple[LiftedOutput, ...]
    timers: tuple[LiftedTimer, ...]


def lift_transition(
    f: Callable[..., object], state: Shape, key: Shape, value: Shape, output: Shape, *, fires: bool
) -> LiftedTransition | Opaque:
    """Lifts a function of a state, an observed element and clocks; returns why it is not lifted otherwise.

    ``fires`` says whether its computation has a function for timers, without which it must set none.
    """
    location = describe_function(f)
    if not isinstance(f, FunctionType):
        return Opaque(None, f"{type(f).__name__} has no Python source", location)
    if isinstance(state, OptionalOf):
        return Opaque(None, f"a state of type {state}, of which None frees the key", location)
    arguments = TupleOf((state, _observed(key, value), _CLOCKS))
    constructors = {
        Transition: _Constructor(state, output, fires).lift,
        EventTimer: _lift_timer,
        ProcessingTimer: _lift_timer,
    }
    try:
        tree = lift_function(f, items_of(Param(arguments)), {}, (), constructors)
    except RecursionError:
        return Opaque(None, "operations nested too deep to be read", location)
    opaque = first_opaque(tree)
    if opaque is not None:
        return opaque
    if not all(isinstance(leaf, Build) and leaf.shape == _TRANSITION for leaf in _sides(tree)):
        return Opaque(None, "a path without a Transition", location)
    if any(isinstance(node, Each) for node in walk(tree)):
        return Opaque(None, "a comprehension", location)
    return _project(tree, arguments, state, output, location)


def _observed(key: Shape, value: Shape) -> RecordOf:
    shapes = {"key": key, "value": value, "event_time": TIMESTAMP, "late": BOOLEAN}
    return RecordOf(Observed, tuple(Field(name, shape) for name, shape in shapes.items()))


_CLOCKS: Final = RecordOf(
    Clocks,
    (
        Field("processing_time", TIMESTAMP),
        Field("watermark", TIMESTAMP),
        Field("input_ended", BOOLEAN),
    ),
)


@frozen
class _Constructor:
    """Lifts calls of ``Transition`` for states and outputs of some shapes."""

    state: Shape
    output: Shape
    fires: bool

    def lift(self, node: ast.Call, scope: Scope) -> Expr:
        """Lifts a call to a transition, or to a choice of two if an argument chooses between two displays."""
        named = {str(keyword.arg): keyword.value for keyword in node.keywords}
        for name in _SEQUENCES:
            match named.get(name):
                case ast.IfExp(test=test, body=body, orelse=orelse):
                    tested = lift_condition(test, scope)
                    then = self.lift(_with_keyword(node, name, body), scope.assuming(tested, True))
                    otherwise = self.lift(_with_keyword(node, name, orelse), scope.assuming(tested, False))
                    return choose(tested, then, otherwise, scope.location(test))
                case _:
                    pass
        positional = dict(zip(("state",), node.args, strict=False))
        known = {"state", *_SEQUENCES}
        if len(node.args) > 1 or len(positional) + len(named) != len({*positional, *named}):
            return scope.opaque(node, "arguments that do not match those of Transition")
        written = {**positional, **named}
        if "hold" in written and scope.resolve(written["hold"]) is None:
            del written["hold"]
        if "state" not in written or written.keys() - known:
            other = ", ".join(sorted(written.keys() - known)) or "no state"
            return scope.opaque(node, f"a Transition with {other}")
        return self._build(node, written, scope)

    def _build(self, node: ast.Call, written: Mapping[str, ast.expr], scope: Scope) -> Expr:
        state = lift_expression(written["state"], scope)
        is_free = isinstance(state, Constant) and state.value is None
        if not is_free and not is_assignable(self.state, state):
            return _why(state) or scope.opaque(node, f"a state of type {state.shape}, not {self.state}")
        sequences = {name: _items(written.get(name)) for name in _SEQUENCES}
        if None in sequences.values():
            return scope.opaque(node, "outputs, timers or tags that are not written out")
        outputs, timers, tags = (sequences[name] or () for name in _SEQUENCES)
        values = [lift_expression(item, scope) for item in outputs]
        for value in values:
            if not is_assignable(self.output, value):
                return _why(value) or scope.opaque(
                    node, f"an output of type {value.shape}, declared as {self.output}"
                )
        lifted = [_written_timer(timer, scope) for timer in timers]
        cleared = [_tag(tag, scope) for tag in tags]
        reason = self._invalid(lifted, cleared, is_free=is_free)
        if reason is not None:
            return next((_why(timer) for timer in lifted if isinstance(timer, Opaque)), None) or scope.opaque(
                node, reason
            )
        return Build(
            _TRANSITION,
            (
                state if is_free else widen(state, self.state),
                _group(widen(value, self.output) for value in values),
                _group(lifted),
                _group(tag for tag in cleared if tag is not None),
            ),
        )

    def _invalid(self, timers: list[Expr], cleared: list[Constant | None], *, is_free: bool) -> str | None:
        """Returns why a transition is invalid, or not known to be valid."""
        if None in cleared or any(isinstance(timer, Opaque) for timer in timers):
            return "timers or tags that are not known"
        if timers and (is_free or not self.fires):
            return "a Transition with timers that it must not set"
        tags = Counter([*map(_tag_of, timers), *{str(tag.value) for tag in cleared if tag is not None}])
        if any(times > 1 for times in tags.values()):
            return "several timers of one tag"
        return None


def _why(expr: Expr) -> Opaque | None:
    return expr if isinstance(expr, Opaque) else None


def _with_keyword(node: ast.Call, name: str, value: ast.expr) -> ast.Call:
    """Returns a call with another argument."""
    keywords = [
        ast.keyword(keyword.arg, value if keyword.arg == name else keyword.value) for keyword in node.keywords
    ]
    return ast.copy_location(ast.Call(node.func, node.args, keywords), node)


def _items(node: ast.expr | None) -> tuple[ast.expr, ...] | None:
    """Returns the items of a display, none without one; ``None`` if they are not written out."""
    match node:
        case None:
            return ()
        case ast.List(elts=items) | ast.Tuple(elts=items) if not any(
            isinstance(item, ast.Starred) for item in items
        ):
            return tuple(items)
        case _:
            return None


def _written_timer(node: ast.expr, scope: Scope) -> Expr:
    """Lifts an expression that must be one timer, which may have a name."""
    timer = lift_expression(node, scope)
    is_timer = isinstance(timer, Build) and isinstance(timer.shape, RecordOf) and timer.shape.cls in _TIMERS
    return timer if is_timer else _why(timer) or scope.opaque(node, "a timer that is not written out")


def _lift_timer(node: ast.Call, scope: Scope) -> Expr:
    """Lifts a timer to its tag and its time."""
    kind = scope.resolve(node.func)
    assert isinstance(kind, type), "a class of timers"
    named = {str(keyword.arg): keyword.value for keyword in node.keywords}
    written = {**dict(zip(("tag", "at"), node.args, strict=False)), **named}
    if written.keys() != {"tag", "at"} or len(node.args) + len(named) != len(written):
        return scope.opaque(node, f"arguments that do not match those of {kind.__name__}")
    tag, at = _tag(written["tag"], scope), lift_expression(written["at"], scope)
    if tag is None or at.shape != TIMESTAMP:
        return _why(at) or scope.opaque(node, f"a timer at {at.shape}, or whose tag is not a constant")
    return Build(RecordOf(kind, ()), (tag, at))


def _tag(node: ast.expr, scope: Scope) -> Constant | None:
    """Returns a tag that is a constant and a valid name."""
    lifted = lift_expression(node, scope)
    value = lifted.value if isinstance(lifted, Constant) else None
    try:
        require_name("tag", value)
    except ArgumentError:
        return None
    return Constant(value, None) if isinstance(value, str) else None


def _tag_of(timer: Expr) -> str:
    assert isinstance(timer, Build), "a tag and a time"
    tag = timer.parts[0]
    assert isinstance(tag, Constant), "tags are constants"
    return str(tag.value)


def _cleared(leaf: Build) -> list[str]:
    """Returns the tags that a transition clears."""
    return [str(tag.value) for tag in _parts(leaf, _TAGS_AT) if isinstance(tag, Constant)]


def _group(parts: Iterable[Expr]) -> Build:
    return Build(TupleOf(()), tuple(parts))


def _sides(tree: Expr) -> Iterator[Expr]:
    """Yields what a tree of choices chooses from."""
    if isinstance(tree, Choice):
        yield from _sides(tree.then)
        yield from _sides(tree.otherwise)
    else:
        yield tree


def _leaves(tree: Expr) -> Iterator[Build]:
    """Yields the transitions of a tree of choices."""
    for leaf in _sides(tree):
        assert isinstance(leaf, Build), "a tree of transitions"
        yield leaf


def _parts(leaf: Build, number: int) -> tuple[Expr, ...]:
    """Returns the parts of a group of a transition."""
    group = leaf.parts[number]
    assert isinstance(group, Build), "a group of parts"
    return group.parts


def _choices(tree: Expr, of_leaf: Callable[[Build], Expr], shape: Shape) -> Expr:
    """Returns the choice of what the transitions of a tree have."""
    if not isinstance(tree, Choice):
        assert isinstance(tree, Build), "a tree of transitions"
        return of_leaf(tree)
    then, otherwise = (_choices(side, of_leaf, shape) for side in (tree.then, tree.otherwise))
    same = isinstance(then, Constant | Part) and then == otherwise
    return then if same else Choice(tree.condition, then, otherwise, shape)


def _project(
    tree: Expr, arguments: TupleOf, state: Shape, output: Shape, location: str
) -> LiftedTransition | Opaque:
    before = Part(Param(arguments), 0, "[0]", state)
    kinds: dict[str, type] = {}
    for leaf in _leaves(tree):
        for timer in _parts(leaf, _TIMERS_AT):
            assert isinstance(timer.shape, RecordOf), "a class of timers"
            kind = timer.shape.cls
            if kinds.setdefault(_tag_of(timer), kind) is not kind:
                return Opaque(None, f"timers of two kinds with the tag {_tag_of(timer)!r}", location)
    for leaf in _leaves(tree):
        for tag in _cleared(leaf):
            kinds.setdefault(tag, EventTimer)

    def is_freed(leaf: Build) -> bool:
        return isinstance(leaf.parts[0], Constant) and leaf.parts[0].value is None

    most = max(len(_parts(leaf, _OUTPUTS_AT)) for leaf in _leaves(tree))
    return LiftedTransition(
        arguments,
        _choices(tree, lambda leaf: before if is_freed(leaf) else leaf.parts[0], state),
        _choices(tree, lambda leaf: TRUE if is_freed(leaf) else FALSE, BOOLEAN),
        tuple(_output(tree, number, output) for number in range(most)),
        tuple(_timer(tree, tag, kind) for tag, kind in kinds.items()),
    )


def _output(tree: Expr, number: int, output: Shape) -> LiftedOutput:
    shape = optional(output)

    def value(leaf: Build) -> Expr:
        outputs = _parts(leaf, _OUTPUTS_AT)
        return widen(outputs[number], shape) if number < len(outputs) else Constant(None, shape)

    def present(leaf: Build) -> Expr:
        return TRUE if number < len(_parts(leaf, _OUTPUTS_AT)) else FALSE

    chosen = _choices(tree, value, shape)
    return LiftedOutput(_choices(tree, present, BOOLEAN), chosen if shape == output else As(chosen, output))


def _timer(tree: Expr, tag: str, kind: type) -> LiftedTimer:
    shape = optional(TIMESTAMP)

    def at(leaf: Build) -> Expr:
        for timer in _parts(leaf, _TIMERS_AT):
            if _tag_of(timer) == tag:
                assert isinstance(timer, Build)
                return widen(timer.parts[1], shape)
        return Constant(None, shape)

    def touched(leaf: Build) -> Expr:
        return TRUE if tag in (*map(_tag_of, _parts(leaf, _TIMERS_AT)), *_cleared(leaf)) else FALSE

    return LiftedTimer(tag, kind is EventTimer, _choices(tree, touched, BOOLEAN), _choices(tree, at, shape))
