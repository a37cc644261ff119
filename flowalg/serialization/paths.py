"""Places in a document, as messages give them: ``nodes[1].steps[0].function.f, in key_by(team at games.py:12)``."""

from __future__ import annotations

from attrs import evolve, frozen


@frozen
class Place:
    """A path in a document, and the transform that it lies in, where it lies in one."""

    path: str
    transform: str = ""

    def field(self, name: str) -> Place:
        """The place of a field."""
        return evolve(self, path=f"{self.path}.{name}")

    def item(self, number: int) -> Place:
        """The place of an item."""
        return evolve(self, path=f"{self.path}[{number}]")

    def within(self, transform: str) -> Place:
        """The place, in a transform."""
        return evolve(self, transform=transform)

    def __str__(self) -> str:
        return f"{self.path}, in {self.transform}" if self.transform else self.path


__all__ = ["Place"]
