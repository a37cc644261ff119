"""The bad records of a run on the command line: a file next to its output."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from flowalg import BadRecord
from flowalg_tools.cli.files import format_of, write_table
from flowalg_tools.cli.terminal import show

COLUMNS: Final = ("stage", "error", "record")
"""The columns of a bad record in a file."""


def letters_path(output: Path) -> Path:
    """Where the bad records of a run are written: ``panes.dead-letters.csv`` for ``panes.csv``."""
    return output.with_name(f"{output.stem}.dead-letters{output.suffix}")


def write_dead_letters(bad: Sequence[BadRecord], output: Path) -> None:
    """Writes the bad records of a run next to its output, sorted, and reports their number."""
    import pyarrow as pa

    rows = [{name: getattr(record, name) for name in COLUMNS} for record in sorted(bad)]
    table = pa.Table.from_pylist(rows, pa.schema([(name, pa.string()) for name in COLUMNS]))
    write_table(table, letters_path(output), format_of(output, "--output"))
    report_dead_letters(len(rows), output)


def report_dead_letters(count: int, output: Path) -> None:
    """Reports the number of bad records of a run."""
    show(f"{count:,} bad {'record' if count == 1 else 'records'} to {letters_path(output)}")


__all__ = ["COLUMNS", "letters_path", "report_dead_letters", "write_dead_letters"]
