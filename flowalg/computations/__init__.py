"""Computations: user code per key, with state and timers (MillWheel, section 4; SEMANTICS section 17)."""
