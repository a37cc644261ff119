"""Computations in the shard step: the keys of a shard, with their states and timers."""
