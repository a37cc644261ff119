"""``flowalg plan`` and ``flowalg reshard``: what a changed pipeline can continue, and another number of shards."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from flowalg import PCollection
from flowalg.data.errors import is_url
from flowalg.errors import ArgumentError
from flowalg_tools.cli.files import require_extra
from flowalg_tools.cli.names import load_value
from flowalg_tools.cli.run import spark_session
from flowalg_tools.cli.terminal import show, spinner

if TYPE_CHECKING:
    from flowalg_shard.state.plans import ChangePlan

_STYLES = {"The pipeline can continue": "green", "The pipeline cannot continue": "red"}


def plan_changes(pipeline: str, checkpoint: str, shards: int | None, *, dead_letters: bool) -> bool:
    """Prints what a pipeline can continue from a checkpoint, and returns whether it can start from it."""
    loaded = load_outputs(pipeline)
    plan = _plan(loaded, checkpoint, shards, dead_letters=dead_letters)
    show(f"{plan}\nUser-defined functions are not compared.", _STYLES)
    return plan.accepted


def _plan(
    pipeline: PCollection[object] | Mapping[str, PCollection[object]],
    checkpoint: str,
    shards: int | None,
    *,
    dead_letters: bool,
) -> ChangePlan:
    if is_local(checkpoint):
        with require_extra("polars"):
            from flowalg_polars import streaming
        return streaming.plan(pipeline, checkpoint, shards=shards, dead_letters=dead_letters)
    query = spark_checkpoint(checkpoint)
    with spark_session("flowalg plan") as session, spinner("reading the state with Spark"):
        import flowalg_spark

        return flowalg_spark.plan(session, pipeline, query, shards=shards, dead_letters=dead_letters)


def divide_local_state(checkpoint: str, shards: int) -> None:
    """Divides the state in a checkpoint of the local engine into a number of shards."""
    with require_extra("polars"):
        from flowalg_polars import streaming
    streaming.reshard(checkpoint, shards)
    show(f"The state in {checkpoint} has {shards} shards; continue with shards={shards}.")


def divide_spark_state(checkpoint: str, shards: int, into: Path | None, partitions: int | None) -> None:
    """Divides the state in a checkpoint of Spark into a number of shards, in the new checkpoint ``into``."""
    query = spark_checkpoint(checkpoint)
    if into is None:
        raise ArgumentError("--into", None, "the folder of the new checkpoint, for a checkpoint of Spark")
    count = shards if partitions is None else partitions
    with spark_session("flowalg reshard") as session, spinner("dividing the state with Spark"):
        from flowalg_spark import configure, reshard

        reshard(configure(session, partitions=count), query, into, shards=shards)
    show(
        f"The state is in {into} with {shards} shards; continue from there with shards={shards}, in a session with "
        f"{count} shuffle partitions."
    )


def spark_checkpoint(checkpoint: str) -> Path:
    """Returns the checkpoint of a query on Spark in a folder, which may be that of ``flowalg run``."""
    folder = Path(checkpoint)
    query = folder / "query" if (folder / "query").is_dir() else folder
    if not (query / "offsets").is_dir():
        raise ArgumentError("CHECKPOINT", str(folder), "a folder with the checkpoint of a query")
    return query


def load_outputs(text: str) -> PCollection[object] | Mapping[str, PCollection[object]]:
    """Returns the pipeline, or the named outputs, with this name."""
    value = load_value(text, "PIPELINE")
    if isinstance(value, PCollection):
        return value
    if not isinstance(value, Mapping) or not all(
        isinstance(output, PCollection) for output in value.values()
    ):
        raise ArgumentError(f"PIPELINE {text}", value, "a PCollection, or a mapping of names to PCollections")
    return value


def is_local(checkpoint: str) -> bool:
    """Returns whether a folder has a checkpoint of the local engine, as a URL of an object store always has."""
    return is_url(checkpoint) or (Path(checkpoint) / "manifest").is_file()
