"""Values that say which of several collections they come from, and the combiner that takes them apart again."""

from __future__ import annotations

from attrs import frozen

from flowalg.combiners.core import Combiner


@frozen
class Tagged:
    """A value, and the number of the collection that it comes from."""

    source: int
    value: object


@frozen
class Tag:
    """Tags values with a number."""

    source: int

    def __call__(self, value: object) -> Tagged:
        """The value, tagged."""
        return Tagged(self.source, value)


def untagged(value: object) -> object:
    """The user's own value, which is what a trigger that looks at values is shown."""
    return value.value if isinstance(value, Tagged) else value


Lists = tuple[tuple[object, ...], ...]


@frozen
class Separate(Combiner[Tagged, Lists, tuple[list[object], ...]]):
    """The values of each of ``sources`` collections, in order of event time and arrival."""

    sources: int

    @property
    def total(self) -> bool:
        """Empty lists."""
        return True

    @property
    def ordered(self) -> bool:
        """A list has an order."""
        return True

    def zero(self) -> Lists:  # noqa: D102
        return ((),) * self.sources

    def add(self, accumulator: Lists, value: Tagged) -> Lists:  # noqa: D102
        return tuple(
            (*known, value.value) if number == value.source else known
            for number, known in enumerate(accumulator)
        )

    def merge(self, one: Lists, other: Lists) -> Lists:  # noqa: D102
        return tuple((*a, *b) for a, b in zip(one, other, strict=True))

    def extract(self, accumulator: Lists) -> tuple[list[object], ...]:  # noqa: D102
        return tuple(list(known) for known in accumulator)


__all__ = ["Lists", "Separate", "Tag", "Tagged", "untagged"]
