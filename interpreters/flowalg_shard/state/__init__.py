"""The state of a shard between instants: its windows as a log of segments, and compatibility with changed pipelines."""
