"""The Sphinx configuration of the guide: ``make docs`` builds it, with every warning an error."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pygments.lexers.special import TextLexer  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from sphinx.application import Sphinx

HERE: Final = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from docs.tables import api  # noqa: E402  # the root must be on the path first

project = "flowalg"
author = "the flowalg authors"
project_copyright = "the flowalg authors"

extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["benchmarks", "examples", "tables"]
root_doc = "index"

html_theme = "furo"
html_title = "flowalg"
html_copy_source = False
html_static_path = ["static"]
html_css_files = ["site.css"]
pygments_style = "friendly"
pygments_dark_style = "github-dark"

# Headings have the same anchors as on GitHub, where the pages are also read.
myst_heading_anchors = 3
myst_enable_extensions = ["attrs_inline"]

autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_type_aliases = {name: name for name in ("Node", "OnceTrigger", "Trigger", "WindowFn")}
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_inherit_docstrings = False
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
toc_object_entries_show_parents = "hide"

# Types in signatures have the names of the code, including type variables and private types. The build does not load
# the pages of other libraries, so it needs no network. Links in the text stay strict.
nitpick_ignore_regex = [(r"py:.*", r".*")]
# Two engines have an alias of one name, ``ReplayInput``, and signatures show it without its module.
suppress_warnings = ["ref.python"]


def setup(app: Sphinx) -> None:
    """Writes the pages of the API reference before Sphinx reads the sources."""
    app.add_lexer("csv", TextLexer)  # Pygments has no lexer for CSV
    app.connect("builder-inited", lambda _: api.write(HERE / "api"))
