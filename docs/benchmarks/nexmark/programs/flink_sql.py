"""Runs queries of Flink's SQL over Parquet files, one for each line of JSON that it reads: ``flink_sql.py SETTINGS``.

A request has the ``sql``, the folders of its ``tables``, and whether to ``collect`` the rows. The answer is a line of
JSON: the ``rows``, with timestamps as text, an ``error``, or nothing if the rows were discarded.
"""

from __future__ import annotations

import json
import sys

from pyflink.table import DataTypes, EnvironmentSettings, Table, TableEnvironment
from pyflink.table.expressions import col

TIME = "TIMESTAMP_LTZ(6)"
COLUMNS = {
    "person": (
        "id BIGINT, name STRING, email STRING, credit_card STRING, city STRING, state STRING,"
        f" date_time {TIME}, extra STRING, arrived {TIME}"
    ),
    "auction": (
        "id BIGINT, item STRING, description STRING, initial_bid BIGINT, reserve BIGINT,"
        f" date_time {TIME}, expires {TIME}, seller BIGINT, category BIGINT, extra STRING, arrived {TIME}"
    ),
    "bid": (
        "auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING,"
        f" date_time {TIME}, extra STRING, arrived {TIME}"
    ),
    "side_input": f"number BIGINT, text STRING, date_time {TIME}",
}
"""The columns of the tables, in the order of their files."""


def main(jars: list[str], parallelism: int) -> None:
    """Answers requests until there are no more."""
    environment = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    settings = {
        "parallelism.default": str(parallelism),
        "table.local-time-zone": "UTC",
        "pipeline.jars": ";".join(jars),
    }
    for name, value in settings.items():
        environment.get_config().set(name, value)
    for line in sys.stdin:
        try:
            answer = answer_to(environment, **json.loads(line))
        except Exception as error:
            answer = {"error": str(error)[:2_000]}
        print(json.dumps(answer), flush=True)


def answer_to(
    environment: TableEnvironment, sql: str, tables: dict[str, str], collect: bool
) -> dict[str, object]:
    """Runs a query."""
    for name, folder in tables.items():
        environment.execute_sql(f"DROP TABLE IF EXISTS {name}")
        environment.execute_sql(
            f"CREATE TABLE {name} ({COLUMNS[name]}) WITH ("
            f"'connector' = 'filesystem', 'path' = '{folder}', 'format' = 'parquet')"
        )
    if collect:
        with with_text(environment.sql_query(sql)).execute().collect() as rows:
            return {"rows": [list(row) for row in rows]}
    environment.execute_sql(f"CREATE TABLE nowhere WITH ('connector' = 'blackhole') AS {sql}").wait()
    environment.execute_sql("DROP TABLE nowhere")
    return {}


def with_text(table: Table) -> Table:
    """Returns a table whose timestamps are text: rows of others cannot be collected."""
    schema = table.get_schema()
    names = schema.get_field_names()
    kinds = [str(kind) for kind in schema.get_field_data_types()]
    return table.select(
        *(
            col(name).cast(DataTypes.STRING()) if "TIMESTAMP" in kind.upper() else col(name)
            for name, kind in zip(names, kinds, strict=True)
        )
    )


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
