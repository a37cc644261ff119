"""Inputs of Spark's streams besides frames: snapshots of a table."""

from flowalg_spark.inputs.snapshots import snapshot_input

__all__ = ["snapshot_input"]
