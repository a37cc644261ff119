"""How a pipeline over bounded data becomes relational algebra: windows, groups and joins as Spark plans."""

__all__: list[str] = []
