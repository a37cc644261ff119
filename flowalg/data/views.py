"""A registry of HTML views for notebooks: values find their view here and do not import presentation modules."""

from __future__ import annotations

import re
from functools import singledispatch
from html import escape
from typing import Final

# Characters that are invalid in XML, which html.escape does not replace.
_UNPRINTABLE: Final = re.compile("[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@singledispatch
def html_view(value: object) -> str:
    """Returns the HTML that the view registered for the value's class renders; without one, its text."""
    style = "font-family: monospace; font-size: 90%; white-space: pre-wrap;"
    return f'<div style="{style}">{escape_text(str(value))}</div>'


def escape_text(text: str) -> str:
    """Escapes a text for HTML and replaces characters that are invalid in XML."""
    return escape(_UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text))


class HasView:
    """A value that a notebook displays with the view registered for its class."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return html_view(self)
