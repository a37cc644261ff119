"""What a program declares of its classes, so that the state of earlier versions continues: names and functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Final, TypeVar, get_args, get_origin, get_type_hints

from attrs import field, frozen

from flowalg.data.class_marks import name_class
from flowalg.data.errors import ArgumentError, hidden, require_text
from flowalg.data.record_classes import REQUIRED, record_class
from flowalg.data.shapes import RecordOf, Shape, shape_of

A = TypeVar("A")
B = TypeVar("B")


@frozen
class RenamedFrom:
    """An earlier name of a field or of a class: state under that name continues.

    A field has it in its annotation, and a class as its decorator, with its module: ``"shop.models:Order"``. A class
    needs it only if state has its objects as they are, in an accumulator or a state without a known type; a member of a
    sum keeps its tag with ``tagged``. Raises ``ArgumentError`` for a name that is not text.

    Example:

    >>> from typing import Annotated
    >>> @frozen
    ... class Sale:
    ...     amount: Annotated[int, RenamedFrom("total")]
    """

    name: str = field(validator=lambda _, __, value: require_text("RenamedFrom.name", value))

    def __call__(self, cls: type[A]) -> type[A]:
        """Decorates a class that had the name before."""
        if not isinstance(cls, type):
            raise ArgumentError("the argument of @RenamedFrom(...)", cls, "a class")
        name_class(self.name, cls)
        return cls


def earlier_names(cls: type) -> dict[str, tuple[str, ...]]:
    """Returns the earlier names of the fields of a record class that have some."""
    hints = get_type_hints(cls, include_extras=True)
    renamed = {name: _names_in(hint) for name, hint in hints.items()}
    return {name: names for name, names in renamed.items() if names}


def _names_in(hint: object) -> tuple[str, ...]:
    if get_origin(hint) is not Annotated:
        return ()
    return tuple(note.name for note in get_args(hint)[1:] if isinstance(note, RenamedFrom))


@frozen
class Declared:
    """A function from values of an earlier type."""

    old: Shape
    function: Callable[[Any], object]


def evolves(old: type[A], new: type[B], function: Callable[[A], B]) -> None:
    """Declares how values of an earlier type become values of a record class, where state has them.

    ``old`` is the type that the state has: a class with the fields that ``new`` had before, of any name, or another
    type of elements, such as ``int``. A query that starts from a checkpoint with such values calls ``function`` once
    for each; it must be pure. Functions of several versions compose. Raises ``ArgumentError`` unless ``new`` is a
    record class and ``old`` another type of elements, and ``RecordTypeError`` for types that are none.

    Law: the panes are those of a fresh run whose first elements have been converted by ``function``.

    Example:

    >>> @frozen
    ... class SpendInEuros:
    ...     amount: int
    >>> @frozen
    ... class Spend:
    ...     cents: int
    >>> evolves(SpendInEuros, Spend, lambda old: Spend(100 * old.amount))
    """
    before, after = shape_of(old, where="evolves.old"), shape_of(new, where="evolves.new")
    if not isinstance(after, RecordOf):
        raise ArgumentError("evolves.new", hidden(new), "a record class")
    if before == after:
        raise ArgumentError("evolves.old", hidden(old), "another type than evolves.new")
    if not callable(function):
        raise ArgumentError("evolves.function", function, "a function from an old value to a new one")
    setattr(new, _ATTRIBUTE, (*declared_of(new), Declared(before, function)))


def declared_of(cls: type) -> tuple[Declared, ...]:
    """Returns the functions from earlier types that are declared of a class."""
    declared: tuple[Declared, ...] = vars(cls).get(_ATTRIBUTE, ())
    return declared


_ATTRIBUTE: Final = "__flowalg_evolves__"


def defaults_of(cls: type) -> dict[str, object]:
    """Returns the defaults of the fields of a record class that have some; those of factories are made."""
    record = record_class(cls)
    attributes = () if record is None else record.attributes
    return {each.name: each.made for each in attributes if each.default is not REQUIRED}
