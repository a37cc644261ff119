"""Key-value pairs: what key-wise transforms take and give (Dataflow Model, section 2.2)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Generic, TypeVar

from attrs import frozen

K_co = TypeVar("K_co", covariant=True)
V_co = TypeVar("V_co", covariant=True)

if TYPE_CHECKING:
    from typing import Self

    # Type checkers give each target of an unpacking a type of its own for tuples only: a pair is one to them.
    class _Unpacks(tuple[K_co, V_co]):
        def __new__(cls, key: K_co, value: V_co) -> Self: ...

else:

    class _Unpacks(Generic[K_co, V_co]):
        __slots__ = ()

        def __iter__(self) -> Iterator[object]:
            yield self.key
            yield self.value


@frozen(order=False)
class KV(_Unpacks[K_co, V_co]):
    """A key and a value, which ``key, value = pair`` unpacks.

    Keys of one grouping are compared by equality, so they may not hold floats. A pair is a record and not a tuple: it
    equals no tuple, and has no length, index or order. Type checkers take it for a tuple all the same, since they
    cannot type the unpacking of anything else.
    """

    key: K_co
    value: V_co
