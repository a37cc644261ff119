"""Functions of elements of sums: ``flatten`` widens an element to a sum, and ``only`` narrows it to a member."""

from __future__ import annotations

from attrs import frozen

from flowalg.data.shapes import Shape, SumOf
from flowalg.lifting.operations.conditionals import is_assignable, widen
from flowalg.lifting.operations.instances import as_members, is_instance
from flowalg.lifting.operations.sums import parts_of
from flowalg.lifting.tree.expressions import Expr


@frozen
class Widen:
    """The function of a union: an element as a value of a sum of which it is a member. In Python it is the element."""

    shape: Shape

    def __call__(self, element: object) -> object:
        """Returns the element."""
        return element

    def expression_of(self, element: Expr) -> Expr | None:
        """Returns the element as a value of the sum."""
        return widen(element, self.shape) if is_assignable(self.shape, element) else None


@frozen
class Narrow:
    """The function of ``only``: an element of a sum as a value of a class, which it is. In Python it is the element."""

    kind: type

    def __call__(self, element: object) -> object:
        """Returns the element."""
        return element

    @property
    def wrapped(self) -> type:
        """The class, which messages name."""
        return self.kind

    def expression_of(self, element: Expr) -> Expr | None:
        """Returns the element as a value of the members that are of the class."""
        if not isinstance(element.shape, SumOf):
            return element
        members = parts_of(element)
        parts = [members[number] for number in element.shape.instances_of(self.kind)]
        return as_members(parts, "") if parts else None


@frozen
class IsA:
    """The predicate of ``only``: whether an element is an instance of a class."""

    kind: type

    def __call__(self, element: object) -> bool:
        """Returns whether the element is an instance of the class."""
        return isinstance(element, self.kind)

    @property
    def wrapped(self) -> type:
        """The class, which messages name."""
        return self.kind

    def expression_of(self, element: Expr) -> Expr | None:
        """Returns the test of the columns of a sum, or the result for a record; Python tests other elements."""
        return is_instance(element, (self.kind,), "")
