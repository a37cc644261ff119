"""Writes the generated pages: ``make docs``."""

from __future__ import annotations

from docs.tables import capabilities, laws, lifting, metrics, peers


def main() -> None:
    """Writes each page and prints its name."""
    for table in (capabilities, laws, lifting, metrics, peers):
        table.PATH.write_text(table.page(), encoding="utf-8")
        print(f"wrote {table.PATH.name}")


if __name__ == "__main__":
    main()
