"""Inputs of Spark's streams that are no frames of the user: snapshots of a table."""

from flowalg_spark.inputs.snapshots import snapshot_input

__all__ = ["snapshot_input"]
