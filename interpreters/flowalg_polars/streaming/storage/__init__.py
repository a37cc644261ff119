"""The files of a checkpoint: sealed, replaced at once, and for their owner alone; and logs of names."""

__all__: list[str] = []
