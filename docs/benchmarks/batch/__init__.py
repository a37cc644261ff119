"""``make bench-batch``: Spark batch compared with the same queries written by hand."""

__all__: list[str] = []
