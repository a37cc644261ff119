"""A mutant: one deliberate fault, as a change of text."""

from __future__ import annotations

from attrs import frozen


class StaleMutantError(Exception):
    """The text that a mutant changes is not found exactly once: the code has moved on, and the mutant must follow."""


@frozen
class Mutant:
    """A fault that an implementer could make, and the change of text that makes it.

    ``fault`` says what is then wrong. ``why_it_survives`` explains a fault that no run can show; it is then tried all
    the same, but does not count.
    """

    fault: str
    file: str
    old: str
    new: str
    why_it_survives: str = ""

    def apply(self, text: str) -> str:
        """The file with the fault in it; raises ``StaleMutantError`` unless the old text is there exactly once."""
        found = text.count(self.old)
        if found != 1:
            raise StaleMutantError(f"{self.fault}: {self.file} has {found} times\n{self.old}")
        return text.replace(self.old, self.new)


__all__ = ["Mutant", "StaleMutantError"]
