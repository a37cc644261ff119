"""The features: the rows of the table, in its order."""

from __future__ import annotations

from typing import Final

from tests.peers.claims.cells import Feature, Json

SUMS: Final[Json] = [[0, 8], [60, 7]]

FEATURES: Final = (
    Feature(
        "composite",
        "composite triggers",
        "A minute gets 5, 3 and 2, then the watermark, then 4. Its trigger fires after two elements, on time, and for "
        "each late element. The panes, with their timing, are 8 early, 10 on time and 14 late.",
        [["early", 8], ["on_time", 10], ["late", 14]],
    ),
    Feature(
        "late",
        "late panes, allowed lateness",
        "A minute gets 2 and 3, the watermark passes it, 4 comes within the allowed lateness, and 9 after it. The "
        "panes are 5, when the minute is complete, and 9, its correction.",
        [5, 9],
    ),
    Feature(
        "modes",
        "accumulating, discarding, retracting",
        "The same minute in each accumulation mode: 5 and 9; 5 and 4; or 5, its retraction, and 9.",
        {"accumulating": ["+5", "+9"], "discarding": ["+5", "+4"], "retracting": ["+5", "-5", "+9"]},
    ),
    Feature(
        "chain",
        "corrections through two groupings",
        "Two players have 5 points each in a minute; then 4 late points come for one of them. A second grouping counts "
        "players by their points: two with 5 when the minute is complete, then one with 5 and one with 9.",
        [{"5": 2}, {"5": 1, "9": 1}],
    ),
    Feature(
        "sessions",
        "sessions that merge are retracted",
        "Sessions with a gap of a minute, from 0 to 80 and from 130 to 190 seconds, are complete. A late element "
        "between them merges them: both are retracted, and one from 0 to 190 is emitted.",
        [
            ["+", 0, 80, 2],
            ["+", 130, 190, 1],
            ["-", 0, 80, 2],
            ["-", 130, 190, 1],
            ["+", 0, 190, 4],
        ],
    ),
    Feature(
        "joins",
        "left join with a late match",
        "A left join by key and minute. An order without a payment is emitted with nothing when the minute is "
        "complete. Its payment comes late: the row is retracted, and emitted with the payment.",
        [["+", 7, None], ["-", 7, None], ["+", 7, 300]],
    ),
    Feature(
        "drops",
        "dropped late data as data",
        "Two elements, 9 and 1, come after the allowed lateness. The minute keeps its pane of 5, and the two are an "
        "output, each with its value.",
        {"panes": [5], "dropped": [9, 1]},
    ),
    Feature(
        "percentile",
        "percentile watermarks",
        "Elements come every three seconds, and one that is a minute late. The watermark waits for 100 seconds, but a "
        "pane of the first minute fires when nine in ten elements are expected to be in, with 20 elements.",
        [["early", 20]],
    ),
    Feature(
        "idle",
        "idle sources hold no watermark",
        "Of two parts of the input one is silent after its first element. The other goes on, and the first minute is "
        "emitted, with the elements of both: 6.",
        [6],
    ),
    Feature(
        "timers",
        "state, timers of both domains",
        "A user function adds up the values of a key, and sets a timer of processing time, which fires with 5, and one "
        "of event time, which fires with 8.",
        ["processing 5", "event 8"],
    ),
    Feature(
        "replay",
        "replay of recorded arrivals",
        "Rows with both times, under a watermark 5 seconds behind: the sum of the first minute is 8 at second 71, and "
        "12 at second 80, when it was observed, and not when it is replayed. The watermark is not computed by hand.",
        [[71, 8], [80, 12]],
    ),
    Feature(
        "explanations",
        "why is there no result yet",
        "A minute waits for the watermark, which is at second 20. The system says what the minute waits for, where the "
        "watermark is, and which source holds it.",
        ["waits for", "watermark", "held by"],
    ),
    Feature(
        "one_value",
        "batch and stream from one value",
        "One pipeline value (or function of a stream) runs over finite data as a batch, and as a stream out of order: "
        "the sums of the minutes are equal, 8 and 7.",
        {"batch": SUMS, "stream": SUMS},
    ),
    Feature(
        "types",
        "static types",
        "A program misspells a field, and adds up text. mypy in strict mode reports both lines (errors that only say "
        "that a package has no types do not count). If it does not, the table says what is found when the pipeline is "
        "built.",
        {"mypy": ["misspelt field", "sum of text"]},
    ),
    Feature(
        "laws",
        "laws of user-defined combiners",
        "A combiner averages averages. A check that comes with the package finds that its merge is not associative. "
        "The other programs show that it is accepted: the results of one order and its reverse.",
        "a law is broken",
    ),
    Feature(
        "restart",
        "exactly once after a kill",
        "A stateful query writes running sums of 5, 3, 7 and 2. It is killed at the 7, and started again. Its output "
        "is 5, 8, 15 and 17, each once.",
        [5, 8, 15, 17],
    ),
    Feature(
        "sql",
        "SQL",
        "The sums by minute of a stream, as a text of SQL that the package itself runs.",
        SUMS,
    ),
    Feature(
        "connectors",
        "ten connectors",
        "The number of systems or formats that the installed package reads, as counted in its modules or jars, is at "
        "least ten.",
        "10 or more",
    ),
    Feature(
        "processes",
        "several processes of its own",
        "A function of one pipeline is called in at least two processes, which the system has started itself.",
        "2 or more",
    ),
    Feature(
        "status",
        "a stable version",
        "The version in the registry is 1.0 or later.",
        "1.0 or later",
    ),
)
"""All features. Where a peer has what flowalg lacks, the row says so as well."""
