"""``flowalg plan`` and ``flowalg reshard``: what a changed pipeline can continue, and another number of shards."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from flowalg import ArgumentError, PCollection
from flowalg_tools.cli.files import require_extra
from flowalg_tools.cli.names import load_value
from flowalg_tools.cli.run import spark_session
from flowalg_tools.cli.terminal import show, spinner

if TYPE_CHECKING:
    from flowalg_shard.state.plans import Plan

_STYLES = {"The pipeline can continue": "green", "The pipeline cannot continue": "red"}


def plan_changes(pipeline: str, checkpoint: Path, shards: int | None, *, dead_letters: bool) -> bool:
    """Prints what a pipeline can continue from a checkpoint, and returns whether it can start from it."""
    loaded = load_outputs(pipeline)
    found = _plan(loaded, checkpoint, shards, dead_letters=dead_letters)
    show(f"{found}\nUser-defined functions are not compared.", _STYLES)
    return found.accepted


def _plan(
    pipeline: PCollection[object] | Mapping[str, PCollection[object]],
    checkpoint: Path,
    shards: int | None,
    *,
    dead_letters: bool,
) -> Plan:
    if is_local(checkpoint):
        with require_extra("polars"):
            from flowalg_polars import streaming
        return streaming.plan(pipeline, checkpoint, shards=shards, dead_letters=dead_letters)
    query = checkpoint / "query" if (checkpoint / "query").is_dir() else checkpoint
    if not (query / "offsets").is_dir():
        raise ArgumentError("CHECKPOINT", str(checkpoint), "a folder with the checkpoint of a query")
    with spark_session("flowalg plan") as session, spinner("reading the state with Spark"):
        import flowalg_spark

        return flowalg_spark.plan(session, pipeline, query, shards=shards, dead_letters=dead_letters)


def divide_state(checkpoint: Path, shards: int) -> None:
    """Divides the state in a checkpoint of the local engine into a number of shards."""
    if not is_local(checkpoint):
        raise ArgumentError(
            "CHECKPOINT",
            str(checkpoint),
            "a folder with the checkpoint of the local engine; Spark cannot write the state of a query",
        )
    with require_extra("polars"):
        from flowalg_polars import streaming
    streaming.reshard(checkpoint, shards)
    show(f"The state in {checkpoint} has {shards} shards; continue with shards={shards}.")


def load_outputs(text: str) -> PCollection[object] | Mapping[str, PCollection[object]]:
    """The pipeline, or the named outputs, with this name."""
    value = load_value(text, "PIPELINE")
    if isinstance(value, PCollection):
        return value
    if not isinstance(value, Mapping) or not all(isinstance(each, PCollection) for each in value.values()):
        raise ArgumentError(f"PIPELINE {text}", value, "a PCollection, or a mapping of names to PCollections")
    return value


def is_local(checkpoint: Path) -> bool:
    """Whether a folder has a checkpoint of the local engine."""
    return (checkpoint / "manifest").is_file()


__all__ = ["divide_state", "is_local", "load_outputs", "plan_changes"]
