"""What a notebook shows of a value: a registry, so that nothing below presentation imports it."""

from __future__ import annotations

from functools import singledispatch
from html import escape


@singledispatch
def html_view(value: object) -> str:
    """The HTML of a value: that of the view registered for its class, or its ``repr``."""
    return f"<pre>{escape(repr(value))}</pre>"


class HasView:
    """A value that notebooks show by the view registered for its class."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return html_view(self)


__all__ = ["HasView", "html_view"]
