"""What helps a person who looks at a pipeline or a run: pictures, *what if*, and the command line.

Nothing else in flowalg imports it.
"""

__all__: list[str] = []
