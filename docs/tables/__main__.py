"""Writes the generated pages: ``make docs``."""

from __future__ import annotations

from docs.tables import laws


def main() -> None:
    """Write each page, and say so."""
    laws.PATH.write_text(laws.page())
    print(f"wrote {laws.PATH.name}")


if __name__ == "__main__":
    main()
