"""Clocks of a shard: how they are reported in band, and how reports are merged."""
