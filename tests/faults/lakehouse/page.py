"""Runs ``docs/lakehouse.md`` in a session with both formats: ``python -m tests.faults.lakehouse.page [update]``.

It compares the output with the page, or writes it into the page.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from flowalg_spark import local_session

from docs.pages import DOCS, run_page, working_in


def main(*, update: bool) -> int:
    """Runs the page; returns 1 if it shows another output."""
    page = DOCS / "lakehouse.md"
    with TemporaryDirectory() as scratch:
        spark = local_session("flowalg page", memory="1g", log=Path(scratch) / "spark.log")
        try:
            with working_in(Path(scratch)):
                text = run_page(page, spark=spark)
        finally:
            spark.stop()
    if update:
        page.write_text(text, encoding="utf-8")
    elif text != page.read_text(encoding="utf-8"):
        print(text)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(update=sys.argv[1:] == ["update"]))
