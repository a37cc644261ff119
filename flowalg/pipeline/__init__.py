"""Pipelines as values: nodes, the graph that they form, and the typed handles on them."""
