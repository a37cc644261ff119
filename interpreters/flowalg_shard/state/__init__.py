"""The state of a shard between instants: a log of segments, and the pipelines that can continue from it."""
