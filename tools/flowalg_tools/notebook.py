"""Runs with their pictures in a notebook: said once, and then every run shows itself so."""

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
    """There is no notebook that could display anything: the program does not run in IPython."""


def display_in_notebooks() -> None:
    """Have the notebook that runs this show every run with its diagram, and not as tables alone.

    Pipelines, timelines and pane tables show themselves without. Raises ``NoNotebookError`` outside of IPython.
    """
    module = sys.modules.get("IPython")
    shell = None if module is None else module.get_ipython()
    if shell is None:
        raise NoNotebookError("there is no notebook here: call display_in_notebooks() in a cell of one")
    cast("_Shell", shell).display_formatter.formatters["text/html"].for_type(Run, to_html)


__all__ = ["NoNotebookError", "display_in_notebooks"]
