"""The placement of keys on shards, in columns: the hash that ``flowalg.runs.placement`` defines."""
