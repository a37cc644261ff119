"""Replay on Spark: bounded data through a streaming query, instant by instant."""
