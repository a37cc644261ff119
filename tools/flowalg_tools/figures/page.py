"""The gallery's page: every picture with its listing, its trigger in words, and what there is to see."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from flowalg import describe
from flowalg_tools.figures.listing import Listing

_HEAD: Final = """\
# The figures of the papers

Every figure below is a pipeline, run by the reference interpreter over the papers' ten data; every pane is compared
with the published drawing, and then drawn. `flowalg figures` does it again.

Event time goes across and processing time goes up. A circle is a datum, with its value: straight below it is when it
happened, and to its left when it was seen. A rectangle is a pane: as wide as its window, and with its top at the time
when it came out. Its value stands in it, on a plate. Where a figure tells early, on-time and late panes apart, a word,
the line around them and their colour do; otherwise they are grey. A retraction takes an earlier pane back: its hatched
bar is as wide as that pane's window, and its value is negated.

In each listing `scores` are the ten data, all of one key.

*The Dataflow Model* is Akidau et al., [PVLDB 8(12), 2015](https://www.vldb.org/pvldb/vol8/p1792-Akidau.pdf).
*Streaming 102* is Akidau,
[The world beyond batch: Streaming 102](https://www.oreilly.com/radar/the-world-beyond-batch-streaming-102/), 2016.
"""


def page(listings: Iterable[Listing]) -> str:
    """The page, in Markdown."""
    known = tuple(listings)
    contents = "\n".join(f"- [{one.heading}](#{_slug(one.heading)})" for one in known)
    return "\n".join([_HEAD, contents, "", *map(_section, known)])


def _section(listing: Listing) -> str:
    return f"""\
## {listing.heading}

![{listing.heading}. {listing.to_see}]({listing.name}.svg)

{listing.to_see}

```python
{listing.source}
```

{listing.windows_in_words}. A pane {describe(listing.strategy.trigger)}.

*Source: {listing.paper}, Figure {listing.figure}.*
"""


def _slug(heading: str) -> str:
    """What GitHub and Sphinx call a heading in a link."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


__all__ = ["page"]
