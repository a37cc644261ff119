"""The command line: ``flowalg``, or ``python -m flowalg_tools``."""

from flowalg_tools.cli.app import main

__all__ = ["main"]
