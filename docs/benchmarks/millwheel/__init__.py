"""``make bench-millwheel``: computations on both streaming engines, measured as MillWheel (section 8) was."""

__all__: list[str] = []
