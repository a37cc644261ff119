"""``make bench-local``: the local engine compared with Polars and DuckDB by hand."""

__all__: list[str] = []
