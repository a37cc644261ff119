"""Tools for people who inspect pipelines and runs: pictures, what-if analysis, and the command line.

No other package of flowalg imports it.
"""

__all__: list[str] = []
