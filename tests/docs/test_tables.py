"""The generated pages of the documentation are up to date."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Protocol

import pytest
from flowalg_tools.monitoring import METRICS

from docs.tables import capabilities, laws, lifting, metrics, peers


class Page(Protocol):
    """A module that generates a page."""

    PATH: Path

    def page(self) -> str:
        """Returns the page."""
        ...


@pytest.mark.parametrize(
    "table",
    [capabilities, laws, lifting, metrics, peers],
    ids=["capabilities", "laws", "lifting", "metrics", "peers"],
)
def test_a_generated_page_is_up_to_date(table: Page) -> None:
    """``make docs`` updates the page."""
    assert table.PATH.read_text(encoding="utf-8") == table.page()


def test_alerts_use_only_metrics_that_exist() -> None:
    """Every metric and label in an expression of an alert is in the table of metrics."""
    names = {metric.prometheus_name for metric in METRICS}
    labels = {label for metric in METRICS for label in metric.labels}
    for alert in metrics.ALERTS:
        assert set(re.findall(r"flowalg_\w+", alert.expression)) <= names, alert.name
        used = re.findall(r"\{(\w+)=", alert.expression.replace("up{job=", ""))
        grouped = ",".join(re.findall(r"(?:by|on) \(([^)]*)\)", alert.expression))
        assert {*used, *filter(None, re.split(r",\s*", grouped))} <= labels, alert.name


ROOT = Path(__file__).parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_the_rows_of_a_table_have_as_many_cells_as_its_head(page: Path) -> None:
    """No row has come from another table."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    for table in re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE):
        head, *rows = table.splitlines()
        assert {row: _cells(row) for row in rows} == dict.fromkeys(rows, _cells(head))


def _cells(row: str) -> int:
    """Returns the number of cells of a row of a table."""
    return re.sub(r"\\\||`[^`]*`", "", row).count("|") - 1
