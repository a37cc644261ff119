"""Streams as plans of Spark: their rows, rows that wait for a later reader, and the time of a micro-batch."""
