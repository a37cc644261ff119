"""Paths in a document, for messages: ``nodes[1].steps[0].function.f, in key_by(team at games.py:12)``."""

from __future__ import annotations

from attrs import Factory, define, frozen

from flowalg.data.errors import DocumentError, NotWritableError, format_value
from flowalg.pipeline.nodes import Node


@define
class DocumentNodes:
    """The nodes of a document: as read so far, or as written so far, with the index of each by its identity."""

    read: list[Node] = Factory(list)
    written: list[object] = Factory(list)
    indices: dict[int, int] = Factory(dict)


@frozen
class DocumentPath:
    """A path in a document, the nodes of the document, and the transform that the path is in, if there is one."""

    path: str
    nodes: DocumentNodes
    transform: str = ""

    def field(self, name: str) -> DocumentPath:
        """Returns the path of a field."""
        return DocumentPath(f"{self.path}.{name}", self.nodes, self.transform)

    def item(self, number: int) -> DocumentPath:
        """Returns the path of an item."""
        return DocumentPath(f"{self.path}[{number}]", self.nodes, self.transform)

    def within(self, transform: str) -> DocumentPath:
        """Returns the path with its transform."""
        return DocumentPath(self.path, self.nodes, transform)

    def invalid(self, json: object, valid: str) -> DocumentError:
        """Returns the error for JSON that must be something else."""
        return DocumentError(f"{self} must be {valid}; got {format_value(json)}")

    def unreadable(self, reason: object) -> DocumentError:
        """Returns the error for JSON that cannot be read."""
        return DocumentError(f"{self}: {reason}")

    def unwritable(self, complaint: str) -> NotWritableError:
        """Returns the error for a value that cannot be written."""
        return NotWritableError(f"{self}: it {complaint}")

    def mistyped(self, value: object) -> NotWritableError:
        """Returns the error for a value that is not of its declared type."""
        return self.unwritable(f"is {format_value(value)}, which is not of its declared type")

    def __str__(self) -> str:
        return f"{self.path}, in {self.transform}" if self.transform else self.path
