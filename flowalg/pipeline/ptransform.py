"""Transforms as values: ``PTransform[A, B]``, a pipeline with a hole where its input goes (DM, section 2.1).

A transform is built once, by running a function on a collection that stands for any input. It is then applied to
collections, composed with other transforms, compared, printed and tested by itself. Its name changes no meaning:
``explain``, notebooks and metrics show a named transform as one box.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Generic, TypeVar, cast, get_args, get_origin, get_type_hints, overload

from attrs import evolve, field, frozen

from flowalg.data.errors import ArgumentError, describe_function, require_text
from flowalg.data.shapes import shape_of
from flowalg.data.views import HasView
from flowalg.elementwise.steps import WRITTEN
from flowalg.pipeline.holes import fill
from flowalg.pipeline.nodes import Hole, Node, outline
from flowalg.pipeline.pcollection import PCollection

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
A_contra = TypeVar("A_contra", contravariant=True)
B_co = TypeVar("B_co", covariant=True)


class _Of:
    """``PTransform.of``: an object, since mypy does not infer lambdas in the methods of a generic class."""

    def __call__(
        self, record: type[A], build: Callable[[PCollection[A]], PCollection[B]], *, name: str = ""
    ) -> PTransform[A, B]:
        """Returns the transform that ``build`` describes, for collections of a record class, scalar type or ``KV``.

        ``build`` runs once, now: ``PTransform.of(Score, lambda scores: scores.filter(lambda s: s.points > 0))``.
        Raises ``RecordTypeError`` for a type that elements cannot have, and ``ArgumentError`` if ``build`` does not
        return a collection.
        """
        if not callable(build):
            raise ArgumentError("build", build, "a function from a PCollection to a PCollection")
        hole = Hole(shape_of(record))
        built = build(PCollection(hole))
        if not isinstance(built, PCollection):
            raise ArgumentError(f"the result of {describe_function(build)}", built, "a PCollection")
        return PTransform(hole, built.node, name)


@frozen(repr=False)
class PTransform(HasView, Generic[A_contra, B_co]):
    """A pipeline from a collection of ``A`` to a collection of ``B``, to be applied to any such collection.

    Make one with ``of``, ``identity`` or the decorator ``ptransform``. ``f >> g`` is ``g`` after ``f``. Laws:
    ``identity`` is neutral and ``>>`` is associative; ``c.apply(f >> g) == c.apply(f).apply(g)``. Transforms are equal
    if they do the same; names take no part in it.

    Example:

    >>> totals = PTransform.of(Score, lambda scores: scores.key_by(lambda s: s.team).combine_per_key(Count()))
    >>> results(scores.apply(totals))
    [KV(key='blue', value=1), KV(key='red', value=2)]
    """

    hole: Hole
    body: Node
    name: str = field(default="", eq=False, metadata=WRITTEN)

    of: ClassVar[_Of] = _Of()
    """``of(record, build, *, name="")``: the transform that a function describes; see ``__call__``."""

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.hole, Hole) or not isinstance(self.body, Node):
            made = "made by PTransform.of(...), PTransform.identity(...) or @ptransform"
            raise ArgumentError("PTransform", (self.hole, self.body), made)
        require_text("PTransform.name", self.name)

    @staticmethod
    def identity(record: type[A]) -> PTransform[A, A]:
        """Returns the transform that leaves collections as they are: the neutral element of ``>>``."""
        hole = Hole(shape_of(record))
        return PTransform(hole, hole)

    def named(self, name: str) -> PTransform[A_contra, B_co]:
        """Returns the same transform under a name, which ``explain``, notebooks and metrics show."""
        return evolve(self, name=name)

    def __call__(self, collection: PCollection[A_contra]) -> PCollection[B_co]:
        """Returns the output for an input; ``collection.apply(transform)`` is the same.

        Raises ``ArgumentError`` for a collection whose elements have another shape.
        """
        if not isinstance(collection, PCollection):
            raise ArgumentError(f"the input of {self._title}", collection, "a PCollection")
        self._require_shape(collection.node, collection)
        return PCollection(self._filled(collection.node))

    def __rshift__(self, other: PTransform[B_co, C]) -> PTransform[A_contra, C]:
        if not isinstance(other, PTransform):
            return NotImplemented
        other._require_shape(self.body, self)
        return PTransform(self.hole, other._filled(self._filled(self.hole)))

    def __str__(self) -> str:
        return f"{self.name or 'transform'}: {outline(self.body)}"

    def __repr__(self) -> str:
        return f"PTransform({str(self)!r})"

    @property
    def _title(self) -> str:
        return f"transform {self.name!r}" if self.name else "the transform"

    def _require_shape(self, node: Node, argument: object) -> None:
        """Raises ``ArgumentError`` if the shapes of a collection and of the hole are known and differ."""
        if None not in (node.shape, self.hole.shape) and node.shape != self.hole.shape:
            valid = f"a collection of {self.hole.shape}"
            raise ArgumentError(
                f"the input of {self._title}", argument, valid, why=f"its elements are {node.shape}"
            )

    def _filled(self, node: Node) -> Node:
        """Returns the body with a node in place of the hole, inside a scope with the transform's name."""
        return fill(self.hole, self.body, node, self.name)


@overload
def ptransform(build: Callable[[PCollection[A]], PCollection[B]], /) -> PTransform[A, B]: ...
@overload
def ptransform(*, name: str) -> Callable[[Callable[[PCollection[A]], PCollection[B]]], PTransform[A, B]]: ...
def ptransform(
    build: Callable[[PCollection[A]], PCollection[B]] | None = None, /, *, name: str = ""
) -> PTransform[A, B] | Callable[[Callable[[PCollection[A]], PCollection[B]]], PTransform[A, B]]:
    """Decorates a function whose collections are annotated, and returns the transform that it describes.

    The transform has the function's name, or ``name``::

        @ptransform
        def totals(scores: PCollection[Score]) -> PCollection[KV[str, int]]:
            return scores.key_by(lambda s: s.team).combine_per_key(Sum.of(lambda s: s.points))

    Raises ``ArgumentError`` if the parameter of the function is not annotated as a ``PCollection[...]``.
    """
    if build is not None:
        return _described(build, build.__name__ if callable(build) else "")
    require_text("name", name)
    return lambda function: _described(function, name or function.__name__)


def _described(build: Callable[[PCollection[A]], PCollection[B]], name: str) -> PTransform[A, B]:
    valid = "a function with one parameter annotated as PCollection[...]"
    if not callable(build):
        raise ArgumentError("ptransform", build, valid)
    hints = {parameter: hint for parameter, hint in get_type_hints(build).items() if parameter != "return"}
    match [get_args(hint) for hint in hints.values() if get_origin(hint) is PCollection]:
        case [(record,)] if len(hints) == 1:
            return PTransform.of(cast("type[A]", record), build, name=name)
        case _:
            raise ArgumentError("ptransform", build, valid)
