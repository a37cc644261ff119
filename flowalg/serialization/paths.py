"""Paths in a document, for messages: ``nodes[1].steps[0].function.f, in key_by(team at games.py:12)``."""

from __future__ import annotations

from attrs import evolve, frozen


@frozen
class DocumentPath:
    """A path in a document, and its transform if there is one."""

    path: str
    transform: str = ""

    def field(self, name: str) -> DocumentPath:
        """Returns the path of a field."""
        return evolve(self, path=f"{self.path}.{name}")

    def item(self, number: int) -> DocumentPath:
        """Returns the path of an item."""
        return evolve(self, path=f"{self.path}[{number}]")

    def within(self, transform: str) -> DocumentPath:
        """Returns the path with its transform."""
        return evolve(self, transform=transform)

    def __str__(self) -> str:
        return f"{self.path}, in {self.transform}" if self.transform else self.path


__all__ = ["DocumentPath"]
