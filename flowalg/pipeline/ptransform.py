"""Transforms as values: ``PTransform[In, Out]``, a pipeline with holes where its inputs go (DM, section 2.1).

``In`` and ``Out`` are what the transform takes and returns when it is called, as in Beam: a ``PCollection[A]``, or a
tuple of these for several inputs or outputs, also nested and named. So the type of a composition is that of functions,
whatever the number of collections: ``f >> g`` runs one after the other, and ``f & g`` both side by side.

A transform is built once, by running a function on collections that stand for any input. It is then applied to
collections, composed with other transforms, compared, printed and tested by itself. Its name changes no meaning:
``explain``, notebooks and metrics show a named transform as one box.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import (
    ClassVar,
    Generic,
    Protocol,
    TypeAlias,
    TypeVar,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

from attrs import evolve, field, frozen

from flowalg.data.errors import ArgumentError, describe_function, require_text
from flowalg.data.shapes import shape_of
from flowalg.data.views import HasView
from flowalg.elementwise.steps import WRITTEN
from flowalg.pipeline.bundles import Nested, leaves, nested_like
from flowalg.pipeline.holes import fill
from flowalg.pipeline.nodes import Hole, Node, outline
from flowalg.pipeline.pcollection import PCollection

Bundle: TypeAlias = "PCollection[object] | tuple[Bundle, ...]"
"""What a transform takes or returns: a collection, or a tuple of bundles."""

Holes: TypeAlias = "Hole | tuple[Holes, ...]"
Nodes: TypeAlias = "Node | tuple[Nodes, ...]"

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
R = TypeVar("R", bound=Bundle)
In = TypeVar("In", bound=Bundle)
In2 = TypeVar("In2", bound=Bundle)
Out = TypeVar("Out", bound=Bundle)
Out2 = TypeVar("Out2", bound=Bundle)
In_contra = TypeVar("In_contra", bound=Bundle, contravariant=True)
Out_co = TypeVar("Out_co", bound=Bundle, covariant=True)


class _Of:
    """``PTransform.of``: an object, since mypy does not infer lambdas in the methods of a generic class."""

    @overload
    def __call__(
        self, record: type[A], build: Callable[[PCollection[A]], R], /, *, name: str = ""
    ) -> PTransform[PCollection[A], R]: ...
    @overload
    def __call__(
        self,
        record: type[A],
        second: type[B],
        build: Callable[[PCollection[A], PCollection[B]], R],
        /,
        *,
        name: str = "",
    ) -> PTransform[tuple[PCollection[A], PCollection[B]], R]: ...
    @overload
    def __call__(
        self,
        record: type[A],
        second: type[B],
        third: type[C],
        build: Callable[[PCollection[A], PCollection[B], PCollection[C]], R],
        /,
        *,
        name: str = "",
    ) -> PTransform[tuple[PCollection[A], PCollection[B], PCollection[C]], R]: ...
    def __call__(self, *arguments: object, name: str = "") -> object:
        """Returns the transform that ``build`` describes, for collections of one to three element types.

        An element type is a record class, a scalar type or a ``KV``. ``build`` runs once, now, and returns a collection
        or a tuple of them: ``PTransform.of(Score, lambda scores: scores.filter(lambda s: s.points > 0))``. With several
        types the transform takes a tuple of as many collections. Raises ``RecordTypeError`` for a type that elements
        cannot have, and ``ArgumentError`` if ``build`` does not return collections.
        """
        *records, build = arguments
        if not callable(build):
            raise ArgumentError("build", build, "a function from a PCollection to a PCollection")
        return _built(tuple(records), build, name)


@frozen(repr=False)
class PTransform(HasView, Generic[In_contra, Out_co]):
    """A pipeline from its inputs to its outputs, to be applied to any such collections.

    Make one with ``of``, ``identity`` or the decorator ``ptransform``, or take one from ``flowalg.transforms``.
    ``f >> g`` is ``g`` after ``f``, where ``g`` is a transform or any function of collections. ``f & g`` is both side
    by side: it takes a pair, an input of ``f`` and one of ``g``, and returns a pair. ``collection >> f`` and
    ``(a, b) >> f`` apply ``f``. Laws: transforms are a symmetric monoidal category; ``identity`` is neutral, ``>>`` is
    associative, ``(f & g) >> (h & k) == (f >> h) & (g >> k)``, and ``c >> (f >> g) == c >> f >> g``. Transforms are
    equal if they do the same; names take no part in it. Raises ``ArgumentError`` where collections of another number or
    shape are passed, or follow.

    Example:

    >>> totals = PTransform.of(Score, lambda scores: scores.key_by(lambda s: s.team).combine_per_key(Count()))
    >>> results(scores >> totals)
    [KV(key='blue', value=1), KV(key='red', value=2)]
    >>> both = totals & PTransform.of(KV[str, int], lambda points: points.combine_per_key(Sum()))
    >>> counts, sums = (scores, points) >> both
    >>> results(counts.inner_join(sums))
    [KV(key='blue', value=(1, 7)), KV(key='red', value=(2, 8))]
    """

    inputs: Holes
    outputs: Nodes
    name: str = field(default="", eq=False, metadata=WRITTEN)
    _late: Callable[[In_contra], Out_co] | None = field(default=None, eq=False, alias="late", kw_only=True)
    """The function that builds the pipeline again, for inputs whose elements are not known before."""

    of: ClassVar[_Of] = _Of()
    """``of(record, build, *, name="")``: the transform that a function describes; see ``__call__``."""

    def __attrs_post_init__(self) -> None:
        holes, nodes = tuple(leaves(self.inputs)), tuple(leaves(self.outputs))
        if not all(isinstance(hole, Hole) for hole in holes) or not all(isinstance(n, Node) for n in nodes):
            made = "made by PTransform.of(...), PTransform.identity(...) or @ptransform"
            raise ArgumentError("PTransform", (self.inputs, self.outputs), made)
        require_text("PTransform.name", self.name)

    @staticmethod
    def identity(record: type[A]) -> PTransform[PCollection[A], PCollection[A]]:
        """Returns the transform that leaves collections as they are: the neutral element of ``>>``."""
        hole = Hole(shape_of(record))
        return PTransform(hole, hole)

    def named(self, name: str) -> PTransform[In_contra, Out_co]:
        """Returns the same transform under a name, which ``explain``, notebooks and metrics show."""
        return evolve(self, name=name)

    def __call__(self, bundle: In_contra, /) -> Out_co:
        """Returns the outputs for inputs: a collection, or a tuple of as many collections as there are inputs.

        ``collection >> transform`` is the same. Raises ``ArgumentError`` for another number of collections, and for a
        collection whose elements have another shape.
        """
        name = f"the input of {self._title}"
        if not all(isinstance(collection, PCollection) for collection in leaves(bundle)):
            raise ArgumentError(name, bundle, self._valid)
        return cast("Out_co", _collections(self._applied(_nodes(bundle, name), bundle)))

    def __rshift__(self, other: Callable[[Out_co], R]) -> PTransform[In_contra, R]:
        if not callable(other):
            return NotImplemented
        outputs = self._scoped()
        if isinstance(other, PTransform):
            followed = other._applied(outputs, self)
        else:
            made = other(cast("Out_co", _collections(outputs)))
            followed = _nodes(made, f"the result of {describe_function(other)}")
        return PTransform(self.inputs, followed, late=self._followed_by(other))

    def _followed_by(self, other: Callable[[Out_co], R]) -> Callable[[In_contra], R] | None:
        """Returns the function that builds the pipeline of a composition, if it has to be built again."""
        following = cast("Callable[[Bundle], Bundle]", other)
        match self._late:
            case None:
                return None
            case _Sequence(first, rest) if not self.name:
                # A long composition is flat, and not deep.
                sequence = _Sequence(first, (*rest, following))
            case _:
                sequence = _Sequence(self, (following,))
        return cast("Callable[[In_contra], R]", sequence)

    def __rrshift__(self, bundle: In_contra) -> Out_co:
        if callable(bundle):
            why = "a composition begins with a PTransform, such as Input(...) of flowalg.transforms"
            raise ArgumentError(f"the input of {self._title}", bundle, self._valid, why=why)
        return self(bundle)

    def __and__(self, other: PTransform[In, Out]) -> PTransform[tuple[In_contra, In], tuple[Out_co, Out]]:
        if not isinstance(other, PTransform):
            return NotImplemented
        holes = _holes(other.inputs)
        moved = [Hole(hole.shape, number) for number, hole in enumerate(holes, len(_holes(self.inputs)) + 1)]
        late = None if self._late is None and other._late is None else _SideBySide(self, other)
        return PTransform(
            (self.inputs, nested_like(other.inputs, moved)),
            (self._scoped(), _filled(other.outputs, holes, moved, other.name)),
            late=late,
        )

    def __str__(self) -> str:
        outlines = list(map(outline, roots(self.outputs)))
        return f"{self.name or 'transform'}: {', '.join(outlines)}"

    def __repr__(self) -> str:
        return f"PTransform({str(self)!r})"

    @property
    def _title(self) -> str:
        return f"transform {self.name!r}" if self.name else "the transform"

    @property
    def _valid(self) -> str:
        """What the transform takes, in words."""

        def described(inputs: Holes) -> str:
            if isinstance(inputs, tuple):
                return f"({', '.join(map(described, inputs))})"
            return "a PCollection" if inputs.shape is None else f"a collection of {inputs.shape}"

        return f"a tuple {described(self.inputs)}" if isinstance(self.inputs, tuple) else "a PCollection"

    def _scoped(self) -> Nodes:
        """Returns the outputs inside a scope with the transform's name."""
        if not self.name:
            return self.outputs
        holes = _holes(self.inputs)
        return _filled(self.outputs, holes, holes, self.name)

    def _applied(self, given: Nodes, argument: object) -> Nodes:
        """Returns the outputs for inputs, inside a scope with the transform's name; errors name ``argument``."""
        self._require_fit(self.inputs, given, argument)
        nodes, holes, outputs = roots(given), _holes(self.inputs), self.outputs
        if self._late is not None:
            if not self.name:
                return _nodes(self._late(cast("In_contra", _collections(given))), self._title)
            holes = [Hole(node.shape, context=node) for node in nodes]
            outputs = _nodes(
                self._late(cast("In_contra", _collections(nested_like(given, holes)))), self.name
            )
        return _filled(outputs, holes, nodes, self.name)

    def _require_fit(self, inputs: Holes, given: Nodes, argument: object) -> None:
        """Raises ``ArgumentError`` if there are more or fewer inputs, or their shape is known and differs."""
        if isinstance(inputs, Hole):
            if isinstance(given, tuple):
                why = f"these are {len(given)} inputs"
                raise ArgumentError(f"the input of {self._title}", argument, self._valid, why=why)
            if None not in (given.shape, inputs.shape) and given.shape != inputs.shape:
                which = f"input {inputs.number}" if isinstance(self.inputs, tuple) else "the input"
                valid, why = f"a collection of {inputs.shape}", f"its elements are {given.shape}"
                raise ArgumentError(f"{which} of {self._title}", argument, valid, why=why)
            return
        if not isinstance(given, tuple) or len(given) != len(inputs):
            count = len(given) if isinstance(given, tuple) else 1
            why = f"these are {count} of {len(inputs)} inputs"
            raise ArgumentError(f"the input of {self._title}", argument, self._valid, why=why)
        for part, inner in zip(inputs, given, strict=True):
            self._require_fit(part, inner, argument)


@frozen
class _Sequence(Generic[In]):
    """A transform and what follows it, in order."""

    first: PTransform[In, Bundle]
    rest: tuple[Callable[[Bundle], Bundle], ...]

    def __call__(self, bundle: In) -> Bundle:
        made = self.first(bundle)
        for following in self.rest:
            made = following(made)
        return made


@frozen
class _SideBySide(Generic[In, Out, In2, Out2]):
    """Two transforms, of which each takes a part of a pair."""

    first: PTransform[In, Out]
    second: PTransform[In2, Out2]

    def __call__(self, pair: tuple[In, In2]) -> tuple[Out, Out2]:
        return self.first(pair[0]), self.second(pair[1])


@frozen
class _Both(Generic[In, Out, Out2]):
    """Two functions of one input."""

    first: Callable[[In], Out]
    second: Callable[[In], Out2]

    def __call__(self, bundle: In) -> tuple[Out, Out2]:
        return self.first(bundle), self.second(bundle)


def fan_out(first: PTransform[In, Out], second: Callable[[In], Out2]) -> PTransform[In, tuple[Out, Out2]]:
    """Returns a transform and another function of its inputs, as a pair."""
    both = _Both(first, second)
    outputs = _nodes(both(cast("In", _collections(first.inputs))), "the result of a transform")
    return PTransform(first.inputs, outputs, late=None if first._late is None else both)


def of_any(build: Callable[[PCollection[A]], R]) -> PTransform[PCollection[A], R]:
    """Returns the transform that a function describes, for collections whose elements are not known yet.

    The function must be pure: it runs again when the transform is applied, so that its result and its errors are those
    of the function itself.
    """
    hole = Hole(None)
    return PTransform(hole, _nodes(build(PCollection(hole)), "the result of a transform"), late=build)


def roots(outputs: Nodes) -> list[Node]:
    """Returns the nodes of some outputs, from left to right."""
    return list[Node](leaves(outputs))


def _holes(inputs: Holes) -> list[Hole]:
    return list(leaves(inputs))


def _filled(outputs: Nodes, holes: Sequence[Hole], nodes: Sequence[Node], name: str) -> Nodes:
    return nested_like(outputs, fill(holes, nodes, roots(outputs), name))


def _collections(nodes: Nodes) -> Nested[PCollection[object]]:
    return nested_like(nodes, map(PCollection[object], leaves(nodes)))


def _nodes(bundle: object, name: str) -> Nodes:
    """Returns the nodes of a bundle; raises ``ArgumentError`` with a name for it unless it has collections."""
    nodes: list[Node] = []
    for collection in leaves(bundle):
        if not isinstance(collection, PCollection):
            raise ArgumentError(name, bundle, "a PCollection, or a tuple of them")
        nodes.append(collection.node)
    return nested_like(bundle, nodes)


def _built(records: tuple[object, ...], build: Callable[..., object], name: str) -> object:
    """Returns the transform that a function of collections describes; a single input is not in a tuple."""
    holes = [Hole(shape_of(record), number) for number, record in enumerate(records, start=1)]
    made = build(*map(PCollection[object], holes))
    outputs = _nodes(made, f"the result of {describe_function(build)}")
    return PTransform[Bundle, Bundle](holes[0] if len(holes) == 1 else tuple(holes), outputs, name)


class _Decorator(Protocol):
    """``ptransform`` with a name, of a function of one to three collections."""

    @overload
    def __call__(self, build: Callable[[PCollection[A]], R], /) -> PTransform[PCollection[A], R]: ...
    @overload
    def __call__(
        self, build: Callable[[PCollection[A], PCollection[B]], R], /
    ) -> PTransform[tuple[PCollection[A], PCollection[B]], R]: ...
    @overload
    def __call__(
        self, build: Callable[[PCollection[A], PCollection[B], PCollection[C]], R], /
    ) -> PTransform[tuple[PCollection[A], PCollection[B], PCollection[C]], R]: ...


@overload
def ptransform(build: Callable[[PCollection[A]], R], /) -> PTransform[PCollection[A], R]: ...
@overload
def ptransform(
    build: Callable[[PCollection[A], PCollection[B]], R], /
) -> PTransform[tuple[PCollection[A], PCollection[B]], R]: ...
@overload
def ptransform(
    build: Callable[[PCollection[A], PCollection[B], PCollection[C]], R], /
) -> PTransform[tuple[PCollection[A], PCollection[B], PCollection[C]], R]: ...
@overload
def ptransform(*, name: str) -> _Decorator: ...
def ptransform(build: object = None, /, *, name: str = "") -> object:
    """Decorates a function whose collections are annotated, and returns the transform that it describes.

    The transform has the function's name, or ``name``. With several parameters it takes a tuple of collections::

        @ptransform
        def totals(scores: PCollection[Score]) -> PCollection[KV[str, int]]:
            return scores.key_by(lambda s: s.team).combine_per_key(Sum.of(lambda s: s.points))

    Raises ``ArgumentError`` unless each parameter of the function is annotated as a ``PCollection[...]``.
    """
    if build is not None:
        return _described(build, "")
    require_text("name", name)
    return lambda function: _described(function, name)


def _described(build: object, name: str) -> object:
    valid = "a function whose parameters are annotated as PCollection[...]"
    if not callable(build):
        raise ArgumentError("ptransform", build, valid)
    hints = [hint for parameter, hint in get_type_hints(build).items() if parameter != "return"]
    if not hints or any(get_origin(hint) is not PCollection for hint in hints):
        raise ArgumentError("ptransform", build, valid)
    records = tuple(get_args(hint)[0] for hint in hints)
    return _built(records, build, name or getattr(build, "__name__", ""))
