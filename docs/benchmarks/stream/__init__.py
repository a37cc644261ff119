"""``make bench-stream``: micro-batches through flowalg, through Spark's own operators, and by hand."""

__all__: list[str] = []
