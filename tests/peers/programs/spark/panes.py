"""Results of Structured Streaming: output modes, lateness, several aggregations, sessions, joins."""

from __future__ import annotations

from feed import CLOCK, COMPOSITE, CORRECTION, JOINED, LATE, LATENESS, SESSIONS, TOO_LATE, WINDOW, print_cells
from pyspark.sql import functions as F
from queries import run, run_query, seconds

MINUTE = f"{WINDOW} seconds"
DELAYS = (0, LATENESS)


def sums(delay: int):
    """Returns a function of a stream: the sums by player and minute."""
    return lambda frame: (
        frame.withWatermark("at", f"{delay} seconds")
        .groupBy(F.window("at", MINUTE), "player")
        .agg(F.sum("points").alias("points"))
    )


def points(rows) -> list:
    """Returns the sums of the players."""
    return [row.points for row in rows if row.player != CLOCK]


def composite() -> object:
    """What update mode emits."""
    return points(run(sums(LATENESS), COMPOSITE, "update"))


def late() -> object:
    """What append mode, without a delay, and update mode, with the lateness as the delay, emit."""
    return {
        "append": points(run(sums(0), LATE, "append")),
        "update": points(run(sums(LATENESS), LATE, "update")),
    }


def modes() -> object:
    """The values of update mode, which replace each other."""
    return {"accumulating": [f"+{value}" for value in points(run(sums(LATENESS), LATE[:-2], "update"))]}


def drops() -> object:
    """What comes of two elements that are too late: their count, after Spark's first aggregation."""
    rows, progress = run_query(sums(0), TOO_LATE, "append")
    counts = [
        operator["numRowsDroppedByWatermark"] for batch in progress for operator in batch["stateOperators"]
    ]
    return {"panes": points(rows), "counted": sum(counts)}


def chain() -> object:
    """The number of players by their total, before and after a late correction, by the watermark's delay.

    The clock's totals of 0 are removed at the end: Spark applies a filter of the query before its watermark.
    """

    def counts(delay: int):
        return lambda frame: (
            sums(delay)(frame)
            .groupBy(F.window(F.window_time("window"), MINUTE), F.col("points").alias("total"))
            .count()
        )

    return {
        f"delay {delay}": [
            {str(row["total"]): row["count"] for row in run(counts(delay), steps, "append") if row["total"]}
            for steps in (CORRECTION[:3], CORRECTION)
        ]
        for delay in DELAYS
    }


def sessions() -> object:
    """The sessions that append mode emits, by the watermark's delay."""

    def by_session(delay: int):
        return lambda frame: (
            frame.withWatermark("at", f"{delay} seconds")
            .groupBy(F.session_window("at", MINUTE).alias("window"), "player")
            .agg(F.sum("points").alias("points"))
        )

    return {
        f"delay {delay}": [
            ["+", seconds(row.window.start), seconds(row.window.end), row.points]
            for row in run(by_session(delay), SESSIONS, "append")
            if row.player != CLOCK
        ]
        for delay in DELAYS
    }


def joins() -> object:
    """The rows of a left join by minute, by the watermark's delay."""

    def joined(delay: int):
        def build(frame):
            stream = frame.withWatermark("at", f"{delay} seconds").withColumn(
                "window", F.window("at", MINUTE)
            )
            # The clock's elements are in both sides, so that both watermarks advance.
            order, payment = (
                stream.where(F.col("player").isin(name, CLOCK)).select(
                    "window",
                    F.when(F.col("player") == name, "A1").otherwise(CLOCK).alias("key"),
                    F.col("points").alias(name),
                )
                for name in ("order", "payment")
            )
            return order.join(payment, ["window", "key"], "left")

        return build

    return {
        f"delay {delay}": [
            ["+", row.order, row.payment] for row in run(joined(delay), JOINED, "append") if row.key != CLOCK
        ]
        for delay in DELAYS
    }


if __name__ == "__main__":
    print_cells(composite, late, modes, drops, chain, sessions, joins)
