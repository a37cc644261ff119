"""``make bench-batch``: Spark batch beside the same queries written by hand."""

__all__: list[str] = []
