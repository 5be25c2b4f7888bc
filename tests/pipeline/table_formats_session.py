"""Cases of ``test_table_formats`` in a Spark that has releases of Delta and Iceberg; prints their
ends as JSON.

The records of each step are counted in plain Python, too, as an oracle.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from partage.errors import PartageError
from partage.pipeline import append_profile, profile_tables, write_profile
from partage.pipeline.append import grow
from partage.pipeline.session import session
from partage.pipeline.sources.tables import Table

COLUMNS = "topic string, partition int, offset bigint, timestamp timestamp, key string, size bigint"
NAMES = ", ".join(column.split()[0] for column in COLUMNS.split(", "))
MAPPING = {"value_bytes": "size"}
START = 1_700_000_000


class Records:
    """Records of a table, and the oracle's counts of all of them so far."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, int, str, int]] = []

    def values(self, count: int) -> str:
        """SQL of so many more."""
        first = len(self.rows)
        more = [(n % 3, n, f"k{n % 5}", 7 + n) for n in range(first, first + count)]
        self.rows += more
        return ", ".join(
            f"('t', {p}, {n}, timestamp_seconds({START + n}), '{key}', {size})"
            for p, n, key, size in more
        )

    def expected(self) -> list[Any]:
        """Records, bytes of values and keys, and records by partition."""
        size = sum(size + len(key) for *_, key, size in self.rows)
        parts = Counter(p for p, *_ in self.rows)
        return [len(self.rows), size, sorted(parts.items())]


def measured(out: Path) -> list[Any]:
    """The same of a profile, from its files."""
    rows = pq.read_table(out / "partitions").to_pylist()
    return [
        sum(row["records"] for row in rows),
        sum(row["bytes"] for row in rows),
        sorted((row["partition"], row["records"]) for row in rows),
    ]


def message(spark: SparkSession, url: str, out: Path, **options: Any) -> str:
    try:
        append_profile(spark, [url], out, **options)
    except PartageError as error:
        return f"{type(error).__name__}: {error}"
    return "accepted"


def grown(spark: SparkSession, name: str, using: str, folder: Path, sql: dict[str, str]) -> Any:
    """A table that grows, is compacted, and in which rows are deleted: what each run ended with."""
    records, out, url = Records(), folder / "out", Table(name, MAPPING).url
    told: dict[str, Any] = {"equal": []}
    spark.sql(f"CREATE TABLE {name} ({COLUMNS}) USING {using} {sql.get('more', '')}")

    def insert(count: int) -> None:
        spark.sql(f"INSERT INTO {name} ({NAMES}) VALUES {records.values(count)}")

    def append() -> Any:
        about = append_profile(spark, [url], out)
        told["equal"].append(measured(out) == records.expected())
        return about

    def as_a_whole() -> bool:
        return all(
            sorted(map(str, pq.read_table(out / n).to_pylist())) == sorted(map(str, t.to_pylist()))
            for n, t in profile_tables(spark, [url]).items()
        )

    insert(10)
    first = append()
    told["version"] = first["tables"][0]["version"] is not None
    insert(7)
    insert(4)
    died: list[str] = []

    def die(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    kept, grow.marks.as_table = grow.marks.as_table, die
    try:
        append_profile(spark, [url], out)
    except KeyboardInterrupt:
        died.append("died")
    grow.marks.as_table = kept
    told["died"] = [died, measured(out)[0]]
    append()
    before = (out / "profile.json").read_bytes()
    append()
    told["nothing new changes nothing"] = before == (out / "profile.json").read_bytes()
    if "compact" in sql:
        spark.sql(sql["compact"])
        append()
        insert(5)
        append()
    told["as a whole"] = as_a_whole()
    spark.sql(sql["delete"])
    insert(2)
    told["deleted"] = message(spark, url, out)
    told["deleted left"] = measured(out)[0]
    told["again"] = message(spark, url, out, overwrite=True)
    told["again measured"] = measured(out)[0] == spark.table(name).count()
    spark.sql(f"DROP TABLE {name}")
    spark.sql(f"CREATE TABLE {name} ({COLUMNS}) USING {using} {sql.get('more', '')}")
    spark.sql(f"INSERT INTO {name} ({NAMES}) VALUES {Records().values(3)}")
    told["created again"] = message(spark, url, out)
    return told


def main(folder: str) -> dict[str, Any]:
    top = Path(folder)
    config = {
        "spark.driver.memory": "1500m",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.warehouse.dir": str(top / "warehouse"),
        "spark.databricks.delta.snapshotPartitions": "2",
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "hadoop",
        "spark.sql.catalog.lake.warehouse": str(top / "lake"),
    }
    told: dict[str, Any] = {}
    with session("local[2]", short=True, config=config, formats=["delta"]) as spark:
        spark.sparkContext.setCheckpointDir(str(top / "checkpoints"))
        told["delta"] = grown(
            *(spark, "records", "delta", top / "delta"),
            {
                "more": "PARTITIONED BY (partition)",
                "compact": "OPTIMIZE records",
                "delete": "DELETE FROM records WHERE offset = 3",
            },
        )
        told["iceberg"] = grown(
            *(spark, "lake.db.records", "iceberg", top / "iceberg"),
            {
                "compact": "CALL lake.system.rewrite_data_files(table => 'db.records', "
                "options => map('rewrite-all', 'true'))",
                "delete": "DELETE FROM lake.db.records WHERE offset = 3",
            },
        )
        folder_of = f"iceberg.`{top / 'lake' / 'db' / 'records'}`"
        about = write_profile(spark, [Table(folder_of, MAPPING).url], top / "by-folder")
        told["by folder"] = [about["totals"]["records"], "#" in about["sources"][0]]
        windows = spark.read.parquet(str(top / "by-folder" / "windows"))
        windows.writeTo("lake.db.windows").createOrReplace()
        told["windows"] = spark.table("lake.db.windows").count()
        spark.sql("CREATE VIEW seen AS SELECT * FROM lake.db.records")
        told["view"] = message(spark, Table("seen", MAPPING).url, top / "view")
        told["missing"] = message(spark, Table("lake.db.missing").url, top / "missing")
        told["parquet"] = grown(
            *(spark, "plain", "parquet", top / "plain"),
            {
                "more": "PARTITIONED BY (partition)",
                "delete": "TRUNCATE TABLE plain",
            },
        )
    return told


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1])))
