"""What a person sees: text that is coloured on a terminal, and a sign of life where something takes long."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text


def console() -> Console:
    """Where results go: lines stay whole when output is not a terminal."""
    return Console(file=sys.stdout, highlight=False, soft_wrap=True)


def show(text: str, styles: dict[str, str] | None = None) -> None:
    """Print lines; one that begins, after its indent, with a key of ``styles`` is in that style."""
    out = console()
    for line in text.splitlines():
        begins = line.lstrip()
        style = next((one for mark, one in (styles or {}).items() if begins.startswith(mark)), "")
        out.print(Text(line, style=style))


def complain(error: Exception) -> None:
    """Say what went wrong, on the standard error output."""
    err = Console(file=sys.stderr, highlight=False, soft_wrap=True)
    err.print(Text.assemble(("error: ", "bold red"), str(error)))


@contextmanager
def working(what: str) -> Iterator[None]:
    """A spinner with the time that has passed, on a terminal, while something goes on."""
    err = Console(file=sys.stderr)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as progress:
        progress.add_task(what, total=None)
        yield


__all__ = ["complain", "console", "show", "working"]
