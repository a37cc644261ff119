"""Figures 2, 3 and 9 of MillWheel: three computations with typed streams between them, over searches with anomalies.

The paper has no numbers for them. So the generator of ``zeitgeist`` injects anomalies, and a run is as published if the
streams have the types of Figure 3, and the detector reports all anomalies and no others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from inspect import getsource
from pathlib import Path
from typing import Final

from zeitgeist import Generator, alerts, detection, model_updates, score, window_counts
from zeitgeist.picture import draw
from zeitgeist.running import on_reference

NAME: Final = "millwheel-2-3-9"
HEADING: Final = "MillWheel, Figures 2, 3 and 9: Zeitgeist"

TYPES: Final[Mapping[str, str]] = {
    "window_counts": "KV[str, Bucket]",
    "model_updates": "KV[str, Model]",
    "alerts": "KV[str, Alert]",
}
"""The records of the streams, which Figure 3 declares, with the search query as their key."""


def draw_zeitgeist(path: Path) -> Iterator[str]:
    """Runs the reference and draws what it found; yields what is not as published."""
    streams = {"window_counts": window_counts, "model_updates": model_updates, "alerts": alerts}
    for name, stream in streams.items():
        if str(stream.shape) != TYPES[name]:
            yield f"{name} has elements of type {stream.shape}, not {TYPES[name]}"
    traffic = Generator(queries=8, seconds=330, anomalies=10)()
    found = on_reference(traffic)
    scores = score(found, traffic.injected, traffic.end)
    draw(traffic, found, scores, path)
    if (scores.precision, scores.recall) != (1.0, 1.0):
        yield f"precision {scores.precision}, recall {scores.recall}"


def section() -> str:
    """Returns the section of the gallery, in Markdown."""
    parts = (getsource(detection.count_search), getsource(detection.emit_bucket))
    counter = "\n\n".join(parts).rstrip()
    return f"""\
## {HEADING}

![{HEADING}. Searches per second; each shaded anomaly has an alert.]({NAME}.svg)

Searches are counted by second, a model of each query learns from the counts, and a detector reads both streams. Shaded
are the anomalies that the generator has injected; a mark is an alert, at the time at which it is given.

Figure 9: the window counter updates the total of a second, and its timer emits it when the watermark has passed.

```python
{counter}
```

Figure 3: the detector reads a stream of models and one of counts, by query.

```python
{getsource(detection.observe).rstrip()}
```

Figure 2: the topology.

```python
{_topology()}
```

*Source: MillWheel, Figures 2, 3 and 9. The whole program is [`zeitgeist`](../zeitgeist.md).*
"""


def _topology() -> str:
    text = Path(detection.__file__).read_text(encoding="utf-8")
    return text[text.index("window_counts: Final") :].rstrip()
