"""Partitions of a sum: classes of which each value is an instance of exactly one."""

from __future__ import annotations

from collections.abc import Sequence

from flowalg.data.errors import ArgumentError
from flowalg.data.shapes import Shape, SumOf


def require_partition(shape: Shape | None, kinds: Sequence[type]) -> None:
    """Raises ``ArgumentError`` unless values of a shape, if known, are instances of exactly one of some classes."""
    for number, kind in enumerate(kinds, start=1):
        require_member(shape, kind, f"class {number} of partition(...)")
    if shape is None:
        return
    if not isinstance(shape, SumOf):
        valid = "those of a sum, such as of flatten(models, counts)"
        raise ArgumentError("the elements of partition(...)", shape, valid)
    chosen: dict[int, type] = {}
    for kind in kinds:
        for member in shape.instances_of(kind):
            if member in chosen:
                both = f"{chosen[member].__name__} and {kind.__name__}"
                valid = f"classes without a common member; {shape.members[member].shape} is of {both}"
                raise ArgumentError("the classes of partition(...)", kinds, valid)
            chosen[member] = kind
    left = [str(member.shape) for number, member in enumerate(shape.members) if number not in chosen]
    if left:
        valid = f"classes of all members of {shape}; {' and '.join(left)} is of none of them"
        raise ArgumentError("the classes of partition(...)", kinds, valid)


def require_member(shape: Shape | None, kind: object, argument: str) -> None:
    """Raises ``ArgumentError`` unless an argument is a class of which values of a shape can be."""
    if not isinstance(kind, type):
        raise ArgumentError(argument, kind, "a class")
    if isinstance(shape, SumOf) and not shape.instances_of(kind):
        raise ArgumentError(argument, kind, f"a class of which some elements are; they are {shape}")
