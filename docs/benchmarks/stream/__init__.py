"""``make bench-stream``: micro-batches in flowalg, in Spark's own operators, and by hand."""

__all__: list[str] = []
