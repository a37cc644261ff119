"""A registry of HTML views for notebooks: values find their view here and do not import presentation modules."""

from __future__ import annotations

from functools import singledispatch
from html import escape


@singledispatch
def html_view(value: object) -> str:
    """Returns the HTML that the view registered for the value's class renders; without one, its ``repr``."""
    return f"<pre>{escape(repr(value))}</pre>"


class HasView:
    """A value that a notebook displays with the view registered for its class."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return html_view(self)


__all__ = ["HasView", "html_view"]
