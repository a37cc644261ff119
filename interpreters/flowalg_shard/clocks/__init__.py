"""The clocks of a shard: what they read, their reports in band, and how all shards advance them alike."""
