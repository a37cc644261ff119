"""Displays runs with their pictures in notebooks."""

from __future__ import annotations

import sys
from typing import Protocol, cast

from flowalg.data.errors import FlowalgError
from flowalg.runs.run import Run
from flowalg_tools.html import to_html


class _Formatter(Protocol):
    def for_type(self, typ: type, func: object) -> object: ...


class _DisplayFormatter(Protocol):
    @property
    def formatters(self) -> dict[str, _Formatter]: ...


class _Shell(Protocol):
    @property
    def display_formatter(self) -> _DisplayFormatter: ...


class NoNotebookError(FlowalgError, RuntimeError):
    """The program does not run in a notebook (IPython)."""


def display_in_notebooks() -> None:
    """Makes the notebook display every run with its diagram instead of tables alone.

    All other values that have a view are displayed without this call. Raises ``NoNotebookError`` outside of IPython.
    """
    module = sys.modules.get("IPython")
    shell = None if module is None else module.get_ipython()
    if shell is None:
        raise NoNotebookError("not in a notebook: call display_in_notebooks() in a cell of a notebook")
    cast("_Shell", shell).display_formatter.formatters["text/html"].for_type(Run, to_html)
