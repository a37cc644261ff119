"""Windows, the functions that assign them, and the windowing strategy of a grouping."""
