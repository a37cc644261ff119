"""Windows, the window functions that assign them, and the windowing strategy of a grouping."""
