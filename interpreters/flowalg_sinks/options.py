"""Checks the options of sinks before a query starts."""

from __future__ import annotations

from flowalg_columns.output_elements import require_free_names

from flowalg.data.errors import ArgumentError, hidden, require_name
from flowalg.pipeline.outputs import emits_panes
from flowalg.pipeline.pcollection import PCollection
from flowalg_sinks.databases.statements import PROGRESS
from flowalg_sinks.databases.target import Target
from flowalg_sinks.pane_columns import require_element_shape


def require_target(target: object) -> None:
    """Raises ``ArgumentError`` for anything else than a target."""
    if isinstance(target, type) or not isinstance(target, Target):
        raise ArgumentError(
            "target", hidden(target), "a Target, such as SQLite('panes.db') or PostgreSQL('dbname=panes')"
        )


def require_options(pipeline: object, table: object, since: object) -> None:
    """Raises ``ArgumentError`` for an invalid argument.

    Raises ``UnsupportedError`` or ``RecordTypeError`` for a pipeline whose panes a sink cannot store.
    """
    if not isinstance(pipeline, PCollection):
        raise ArgumentError("pipeline", pipeline, "a PCollection")
    name = require_name("table", table, "the name of a table, a non-empty str")
    if "\0" in name:
        raise ArgumentError("table", table, "the name of a table, without the character U+0000")
    if name.casefold() == PROGRESS.name:
        raise ArgumentError("table", table, "another name: this table has the progress of sinks")
    if isinstance(since, bool) or not isinstance(since, int) or since < 0:
        raise ArgumentError("since", since, "the number of a micro-batch, an int of 0 or more")
    require_free_names(require_element_shape(pipeline), panes=emits_panes(pipeline.node))
