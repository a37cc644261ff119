"""Time in Flink: percentile watermarks, idle sources, timers, replay, and why there is no result yet."""

from __future__ import annotations

import json
import socket
import tempfile
import time
from pathlib import Path
from urllib.parse import quote
from urllib.request import urlopen

from feed import ARRIVALS, BASE, element, print_cells, refusal, watermark
from jobs import CORRECTED, MINUTES, environment, run, select
from pyflink.common import Duration, Types, WatermarkStrategy
from pyflink.datastream import KeyedProcessFunction
from pyflink.datastream.state import ValueStateDescriptor

SUMS = (
    f"SELECT SUM(points) FROM TABLE(TUMBLE(TABLE {{}}, DESCRIPTOR(happened), {MINUTES})) "
    "GROUP BY window_start, window_end"
)


def percentile() -> object:
    """A watermark at a percentile."""
    reason = refusal(
        lambda: WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(100), percentile=0.9)
    )
    return reason.partition(":")[0]


def parts(tables, folder: str, **rows: list[tuple[int, int]]) -> None:
    """Makes the view ``scores`` of parts, each a table over a folder that Flink watches for more files."""
    for name, elements in rows.items():
        Path(folder, name).mkdir()
        text = "".join(f"{points},{(BASE + at) * 1000}\n" for points, at in elements)
        Path(folder, name, "part.csv").write_text(text)
        tables.execute_sql(
            f"""CREATE TABLE {name} (
                points BIGINT, millis BIGINT, happened AS TO_TIMESTAMP_LTZ(millis, 3),
                WATERMARK FOR happened AS happened - INTERVAL '0.001' SECOND
            ) WITH ('connector' = 'filesystem', 'path' = '{folder}/{name}', 'format' = 'csv',
                'source.monitor-interval' = '100 ms')"""
        )
    union = " UNION ALL ".join(f"SELECT points, happened FROM {name}" for name in rows)
    tables.execute_sql(f"CREATE VIEW scores AS {union}")


def idle() -> object:
    """The first minute of two tables, one of which is silent after its first row."""
    _, tables = environment(**{"table.exec.source.idle-timeout": "5 s"})
    with tempfile.TemporaryDirectory() as folder:
        parts(tables, folder, a=[(5, 10), *((7, at) for at in (70, 90, 110, 130))], b=[(1, 15)])
        with tables.execute_sql(SUMS.format("scores")).collect() as rows:
            return list(next(rows))


class Timers(KeyedProcessFunction):
    """Adds up the values of a key, and emits the sum at a timer of each domain."""

    def open(self, runtime_context):
        """Makes the state."""
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))

    def process_element(self, value, ctx):
        """Adds a value, and sets the timers; the one of processing time for the first element only."""
        timers = ctx.timer_service()
        if not self.total.value():
            timers.register_processing_time_timer(timers.current_processing_time() + 100)
        timers.register_event_time_timer((BASE + 60) * 1000)
        self.total.update((self.total.value() or 0) + value[1])

    def on_timer(self, timestamp, ctx):
        """Emits the sum."""
        name = "event" if timestamp == (BASE + 60) * 1000 else "processing"
        yield f"{name} {self.total.value()}"


def timers() -> object:
    """State and a timer in each domain, with two seconds between the elements."""
    steps = (element("all", 5, 10), element("all", 3, 20), watermark(60))
    keyed = lambda stream: stream.key_by(lambda pair: pair[0], Types.STRING())  # noqa: E731
    return run(lambda stream: keyed(stream).process(Timers(), Types.STRING()), steps, pause=2)


def replay() -> object:
    """The sums of the first minute of recorded rows, with a watermark 5 seconds behind."""
    query = (
        f"SELECT SUM(points) FROM scores GROUP BY TUMBLE(happened, {MINUTES}) "
        f"HAVING TUMBLE_START(happened, {MINUTES}) = TIMESTAMP '2024-01-01 12:00:00'"
    )
    steps = [element("all", value, at) for _, value, at in ARRIVALS]
    rows = select(query, steps, "happened - INTERVAL '5' SECOND", **CORRECTED)
    return [total for sign, total in rows if sign == "+"]


def explanations() -> object:
    """What the interface of a running job says of a window that has no result yet.

    The job has a source ``a`` whose watermark is at second 20, and a source ``b`` whose watermark is at second 130.
    """
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    settings = {"rest.bind-port": str(port), "metrics.fetcher.update-interval": "100"}
    _, tables = environment(**settings)
    with tempfile.TemporaryDirectory() as folder:
        parts(tables, folder, a=[(5, 20)], b=[(7, 130)])
        result = tables.execute_sql(SUMS.format("scores"))
        job = f"http://localhost:{port}/jobs/{result.get_job_client().get_job_id()}"
        held = (BASE + 20) * 1000 - 1
        deadline = time.monotonic() + 60
        watermarks: dict[str, int] = {}
        while held not in watermarks.values() and time.monotonic() < deadline:
            time.sleep(0.5)
            watermarks = dict(reported(job, "currentInputWatermark", "currentOutputWatermark"))
        result.get_job_client().cancel().result()
    sources = {name for name, at in watermarks.items() if at == held and ": a" in name}
    facts = {"waits for": False, "watermark": held in watermarks.values(), "held by": bool(sources)}
    return [name for name, there in facts.items() if there]


def reported(job: str, *names: str):
    """Yields the metrics of these names, of each operator of a job, with the name of its vertex."""
    for vertex in fetched(job)["vertices"]:
        metrics = f"{job}/vertices/{vertex['id']}/metrics"
        wanted = [metric["id"] for metric in fetched(metrics) if metric["id"].endswith(names)]
        for metric in fetched(f"{metrics}?get={quote(','.join(wanted))}") if wanted else []:
            yield f"{vertex['name']}, {metric['id']}", int(metric["value"])


def fetched(address: str):
    """Returns the JSON at an address."""
    with urlopen(address) as response:
        return json.load(response)


if __name__ == "__main__":
    print_cells(percentile, idle, timers, replay, explanations)
