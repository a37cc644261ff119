"""Changes of pipelines between the runs of a query."""
