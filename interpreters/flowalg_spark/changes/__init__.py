"""Changes between the runs of a query: of its pipeline, and of the number of its shards."""
