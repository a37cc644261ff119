"""``flowalg move``: a stopped query goes on on another engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from flowalg import BoundedOutOfOrderness, Source
from flowalg.data.time import MICROSECOND
from flowalg.errors import ArgumentError
from flowalg_tools.cli.files import require_extra
from flowalg_tools.cli.inputs import bind_paths
from flowalg_tools.cli.plan import is_local, load_outputs, spark_checkpoint
from flowalg_tools.cli.run import spark_session
from flowalg_tools.cli.terminal import show, spinner

if TYPE_CHECKING:
    from flowalg_spark.streaming import StreamInput
    from pyspark.sql import SparkSession


def move_query(
    pipeline: str,
    checkpoint: str,
    inputs: Sequence[str],
    to: Literal["spark", "local"],
    into: str,
    shards: int,
) -> None:
    """Moves the query in a checkpoint to the other engine, in the new checkpoint ``into``."""
    loaded, is_of_local = load_outputs(pipeline), is_local(checkpoint)
    if is_of_local == (to == "local"):
        other = "spark" if is_of_local else "local"
        raise ArgumentError("--to", to, f"{other}, since the checkpoint is one of the {to} engine already")
    paths = bind_paths(loaded, inputs)
    with require_extra("polars"):
        from flowalg_polars import streaming as local
    with spark_session("flowalg move") as session, spinner("moving the state with Spark"):
        import flowalg_spark

        session = flowalg_spark.configure(session, partitions=shards) if to == "spark" else session
        streams = _streams(session, paths)
        if to == "spark":
            query = local.read_query(checkpoint)
            flowalg_spark.write_query(session, query, loaded, streams, into, shards=shards)
        else:
            query = flowalg_spark.read_query(session, spark_checkpoint(checkpoint), loaded, streams)
            local.write_query(query, loaded, into, shards=shards)
    number = f"shards={shards}" + (
        f", in a session with {shards} shuffle partitions" if to == "spark" else ""
    )
    show(
        f"The query goes on after micro-batch {query.batch} from {into} with {number}. Do not start it from "
        f"{checkpoint} any more."
    )


def _streams(
    session: SparkSession, paths: Mapping[Source[object], Path]
) -> dict[Source[object], StreamInput]:
    """Returns the inputs of a query, of which only the folders matter."""
    from flowalg_spark import stream_files
    from flowalg_spark.streaming import StreamInput

    return {
        source: StreamInput(stream_files(session, source, str(path)), BoundedOutOfOrderness(MICROSECOND))
        for source, path in paths.items()
    }
