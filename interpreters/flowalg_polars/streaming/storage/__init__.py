"""The files of a checkpoint: sealed, replaced at once, and for their owner alone; and logs of the files read."""

__all__: list[str] = []
