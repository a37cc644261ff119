"""Elements as columns, for engines of tables: layouts, Arrow values, canonical JSON, and steps in Python over batches.

It knows no engine. ``flowalg_spark`` and ``flowalg_polars`` build on it.
"""
