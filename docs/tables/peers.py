"""``docs/peers.md``: what flowalg and its peers do with the same input, from the claims that ``make peers`` tests."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.peers.claims.peers import PEERS
from tests.peers.table import claims, table, versions

PATH: Final = Path(__file__).parents[1] / "peers.md"

HEAD: Final = """\
# Peers

What do other systems do with the same input? Small programs answer, one for each cell of this table. `make peers`
installs Beam, Flink and Structured Streaming in environments of their own, in `build/peers`, runs their programs, and
compares what each program got with the cell. The results of the other peers are
[recorded](#versions-and-running-it-again). A cell is **yes** if the program gets exactly what the row
[wants](#the-rows), and partly or no if it gets something else, which is recorded too: the element that is missing, the
retraction that does not come, or the error of an interface that has no such name. The programs are in
`tests/peers/programs`, a folder for each peer, and the recorded results in
`tests/peers/claims`. `make docs` generates this page from them.
[Coming from Beam, Flink or Structured Streaming](coming-from.md) has the terms of three of them.
"""

AFTER: Final = """\
The table is about the installed Python packages. It says nothing of a peer's interfaces in other languages, of its
managed services, or of speed, which [performance](performance.md) is about.

## Where peers are better

- Beam, Flink and Spark are used in production by many, and for years. flowalg is not: its version is 0.1.
- Late elements that are dropped are an output of Flink and Bytewax, each with its value, and Quix Streams gives them to
  a function. flowalg's reference has each of them too, but its engines combine those of a key and window in a
  micro-batch: their number, their reason, and in sinks their combined value.
- Flink has most of what flowalg has, for each record when it arrives, in clusters of any size, and with savepoints. Its
  triggers are classes with state, and can fire as one likes. Its features are in two interfaces: triggers, allowed
  lateness and the output of late elements in data streams, retractions in SQL, there in every operator.
- Beam, Flink, Spark, Bytewax and Pathway start workers in several processes themselves. flowalg's local engine is one
  process, and on several machines it needs Spark, with Spark's micro-batches: some hundred milliseconds at the least.
- Beam, Flink, Spark, Pathway and Quix Streams come with many more connectors, and Flink, Spark and Pathway with SQL.
- Pathway retracts in every operator, without windows and without asking for it. Of what can be corrected, flowalg has
  windows, joins and distinct elements.
- Beam has interfaces in Java and Go, Flink in Java, and Spark in Scala, Java and R. flowalg is in Python only.

## The rows

Windows are minutes, the allowed lateness is two minutes, and times are seconds. Where a peer has no watermark that the
program can set, an element advances it: of another key, or of each key where every key has its own watermark. Where it
has a delay of the watermark instead of an allowed lateness, the programs try both: no delay, and the lateness as the
delay. Where a peer has several interfaces, a program is in the one that does most of the row, which the cell names.
"""

VERSIONS: Final = """\
## Versions, and running it again

```sh
make peers
```

It takes some minutes. Flink and Spark need Java. A peer that cannot be installed is skipped, with the reason. The last
line is `peers: N cells, all as the table says`, or the number of the cells that differ, with what each program got.
`python -m tests.peers beam` runs those of one peer. The versions are fixed, since the next one may
do better. The results of Bytewax, Pathway and Quix Streams are those of the last run of their programs, with the
version and on the day in the table; the history of the repository has the programs (until commit `7b276542`).
"""


def page() -> str:
    """Returns the whole page."""
    return "\n".join((HEAD, table(PEERS), "", AFTER, claims(), "", VERSIONS, versions(PEERS), ""))
