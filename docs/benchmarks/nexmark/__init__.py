"""``make nexmark``: the queries of Nexmark on every engine, beside SQL by hand."""

__all__: list[str] = []
