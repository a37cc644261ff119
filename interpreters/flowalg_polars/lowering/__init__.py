"""Element-wise work on Polars frames, for batch and streaming."""
