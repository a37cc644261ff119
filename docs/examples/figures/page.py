"""The page of the gallery: every picture with its pipeline, its trigger in words, and a description."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from figures import millwheel
from figures.listing import Listing
from flowalg.triggers import describe

_HEAD: Final = """\
# The figures of the papers

Each figure below is a pipeline. The reference interpreter runs it over the ten elements of the papers, and every pane
is compared with the published figure. (The last is of *MillWheel*, over generated searches.) `make figures` repeats
this.

Event time runs to the right and processing time upwards. A circle is an element with its value, at its event time and
the time at which it is observed. A rectangle is a pane. Its width is its window, its top is the time at which it fires,
and its value is on a plate inside. The outline and the colour distinguish early, on-time and late panes. If a published
figure does not distinguish them, they are grey. A hatched bar is a retraction of an earlier pane, with that pane's
window and its negated value.

In each listing, `scores` are the ten elements, all with one key.

*The Dataflow Model* is Akidau et al., [PVLDB 8(12), 2015](https://www.vldb.org/pvldb/vol8/p1792-Akidau.pdf).
*Streaming 102* is Akidau,
[The world beyond batch: Streaming 102](https://www.oreilly.com/radar/the-world-beyond-batch-streaming-102/), 2016.
"""


def page(listings: Iterable[Listing]) -> str:
    """The page, in Markdown."""
    listed = tuple(listings)
    headings = [*(listing.heading for listing in listed), millwheel.HEADING]
    contents = "\n".join(f"- [{heading}](#{_slug(heading)})" for heading in headings)
    return "\n".join([_HEAD, contents, "", *map(_section, listed), millwheel.section()])


def _section(listing: Listing) -> str:
    return f"""\
## {listing.heading}

![{listing.heading}. {listing.to_see}]({listing.name}.svg)

{listing.to_see}

```python
{listing.source}
```

{listing.windows_in_words}. A pane {describe(listing.strategy.trigger)}.

*Source: {listing.paper}, {listing.place}.*
"""


def _slug(heading: str) -> str:
    """The anchor of a heading, as GitHub and Sphinx make it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
