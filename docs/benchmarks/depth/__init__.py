"""The latency of windows through chains of groupings, after Figures 3 to 5 of the watermarks paper."""

__all__: list[str] = []
