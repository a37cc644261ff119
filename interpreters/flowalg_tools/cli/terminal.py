"""Output to a terminal: coloured text, errors, and a spinner for long operations."""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from flowalg.data.errors import without_passwords

_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")

UNREAD: Final = 141
"""The exit code if the reader of an output has closed it, as ``head`` does: that of a program which SIGPIPE ends."""


def without_control_codes(line: str) -> str:
    """Returns a line without control characters, except tabs, so that text of data cannot control a terminal."""
    return _CONTROL.sub("", line)


def show(text: str, styles: dict[str, str] | None = None) -> None:
    """Prints lines; a line that begins, after its indentation, with a key of ``styles`` has that style.

    The styles are those of a terminal. In a file, where there may be many lines, the lines are plain text. As with
    ``print``, nothing is written if the output is closed.
    """
    if sys.stdout is None:
        return
    out = Console(file=sys.stdout, highlight=False, soft_wrap=True)
    if not out.is_terminal:
        sys.stdout.writelines(f"{without_control_codes(line)}\n" for line in text.splitlines())
        return
    for line in text.splitlines():
        line = without_control_codes(line)
        content = line.lstrip()
        style = next((style for prefix, style in (styles or {}).items() if content.startswith(prefix)), "")
        out.print(Text(line, style=style))


def escape_what_has_no_code() -> None:
    """Lets the outputs write a character that their encoding lacks as an escape, such as ``\\xf6`` in ASCII."""
    for output in (sys.stdout, sys.stderr):
        if isinstance(output, io.TextIOWrapper):
            output.reconfigure(errors="backslashreplace")


def print_error(error: str) -> None:
    """Prints an error to the standard error output, in one line, without the passwords of URLs."""
    line = without_control_codes(" ".join(without_passwords(error).split("\n")))
    err = Console(file=sys.stderr, highlight=False, soft_wrap=True)
    err.print(Text.assemble(("error: ", "bold red"), line))


def finish(output: TextIO | None, code: int) -> int:
    """Writes what an output still holds, and returns the exit code.

    Without an error it is ``UNREAD`` if the reader has closed the output. One that cannot be written is an error.
    """
    if output is None:
        return code
    try:
        output.flush()
    except OSError as failure:
        with open(os.devnull, "wb") as nowhere:  # Python writes the rest there when it ends
            os.dup2(nowhere.fileno(), output.fileno())
        if not isinstance(failure, BrokenPipeError):
            print_error(str(failure))
            return 2
        return code if code == 2 else UNREAD
    return code


@contextmanager
def spinner(activity: str) -> Iterator[None]:
    """Shows a spinner with the elapsed time during a long operation, if the error output is a terminal."""
    err = Console(file=sys.stderr)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as progress:
        progress.add_task(activity, total=None)
        yield
