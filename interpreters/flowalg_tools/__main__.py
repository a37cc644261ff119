"""``flowalg``, or ``python -m flowalg_tools``: the command line."""

from __future__ import annotations

import sys


def main() -> int:
    """Runs the command line and returns its exit code, which is 2 if the extra ``cli`` is missing."""
    try:
        from flowalg_tools.cli import main as run
    except ModuleNotFoundError as missing:
        print(f"flowalg: {missing.name} is not installed: pip install 'flowalg[cli]'", file=sys.stderr)
        return 2
    return run()


if __name__ == "__main__":
    sys.exit(main())
