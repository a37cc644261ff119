"""``flowalg``, or ``python -m flowalg_tools``: the command line, where its extra is installed."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command line; gives its exit code, which is 2 where the extra is missing."""
    try:
        from flowalg_tools.cli import main as run
    except ModuleNotFoundError as missing:
        print(f"flowalg: {missing.name} is not installed: pip install 'flowalg[cli]'", file=sys.stderr)
        return 2
    return run()


__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())
