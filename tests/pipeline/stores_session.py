"""Cases of ``test_stores`` in a Spark session of their own; prints their ends as JSON."""

from __future__ import annotations

import json
import shutil
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from partage.errors import PartageError
from partage.pipeline import append_profile, profile_tables
from partage.pipeline.session import session
from partage.pipeline.sinks import Sink
from partage.pipeline.stored_places import PlaceOfStore
from partage.pipeline.stores import Store

HTTP = "http://127.0.0.1"


class Website(BaseHTTPRequestHandler):
    """Answers with a page, or that there is none."""

    def do_GET(self) -> None:
        missing = "not-found" in self.path
        self.send_response(404 if missing else 200)
        self.send_header("Content-Length", "13")
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(b"<html></html>")

    do_HEAD = do_GET  # noqa: N815

    def log_message(self, *told: Any) -> None:
        """Nothing."""


def settings(silent: str, website: str) -> dict[str, str]:
    """Buckets that are behind other endpoints, or have other credentials."""
    found = {
        "refused.endpoint": f"{HTTP}:1",
        "silent.endpoint": f"{HTTP}:{silent}",
        "no-host.endpoint": "http://no-such-host.invalid",
        "not-s3.endpoint": website,
        "not-found.endpoint": website,
        "no-credentials.access.key": "",
        "no-credentials.secret.key": "",
        "no-credentials.aws.credentials.provider": (
            "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider"
        ),
    }
    return {f"spark.hadoop.fs.s3a.bucket.{name}": value for name, value in found.items()}


def main(top: str, silent: str, records: str) -> dict[str, Any]:
    """``top``: the URL of an empty store; ``silent``: a port that accepts and does not answer;
    ``records``: a folder with one file of them."""
    told: dict[str, Any] = {}
    out = f"{top}/out"
    website = ThreadingHTTPServer(("127.0.0.1", 0), Website)
    threading.Thread(target=website.serve_forever, daemon=True).start()
    config = settings(silent, f"{HTTP}:{website.server_port}")
    with session("local[2]", short=True, config=config, paths=[out]) as spark:
        store = Store(spark, out)

        def seen() -> list[Any]:
            """Rows of the table that the marker lists, and which run it is of."""
            about = json.loads(store.read("mark.json") or b"{}")
            files = [f"{out}/{name}" for name in about["files"]]
            return [spark.read.parquet(*files).count(), about["run"]]

        def runs() -> list[str]:
            return sorted({name.split("/")[0] for name in store.lengths() if "/" in name})

        def ended(name: str, url: str) -> None:
            try:
                Store(spark, url).reached()
            except PartageError as error:
                told[name] = [type(error).__name__, str(error)]

        def refused(path: str) -> str:
            try:
                Sink(path, "mark.json").check(spark)
            except PartageError as error:
                return str(error)
            return "accepted"

        def write(path: str, rows: int, run: str) -> None:
            table = pa.table({"n": list(range(rows))})
            Sink(path, "mark.json", overwrite=True).write(spark, {"keys": table}, {"run": run})

        write(out, 3, "one")
        told["first"], told["runs of the first"] = seen(), runs()
        told["again"] = refused(out)
        try:
            with Sink(out, "mark.json", overwrite=True).opened(spark) as tables:
                tables.add_here("keys", pa.table({"n": [1]}))
                raise PartageError("too many rejected rows")
        except PartageError:
            told["failed"], told["left by the failed"] = seen(), runs()
        write(out, 2, "two")
        told["replaced"], told["runs of the second"] = seen(), runs()
        killed = f"run-{'f' * 16}"
        spark.range(9).write.parquet(f"{out}/{killed}/keys")
        told["killed"], told["left by the killed"] = seen(), runs()

        Store(spark, f"{top}/mine").put("file", "mine", replace=False)
        told["of others"] = refused(f"{top}/mine")
        Store(spark, f"{top}/theirs").put("mark.json", "{}", replace=False)
        told["a marker of others"] = refused(f"{top}/theirs")

        changed = Store(spark, f"{top}/changed")
        write(changed.url, 1, "one")
        (first,) = {name.split("/")[0] for name in changed.lengths() if "/" in name}
        changed.put(f"{first}/keys/more", "mine", replace=False)
        write(changed.url, 1, "two")
        left = changed.lengths()
        told["changed since"] = [f"{first}/keys/more" in left, "mark.json" in left]

        told["appended"] = appended(spark, f"{top}/grown", Path(records))
        if top.startswith("s3a:"):
            for bucket in ("no-such-bucket", "no-credentials", "no-host", "refused", "silent"):
                ended(bucket, f"s3a://{bucket}/x")
            for bucket in ("not-s3", "not-found"):
                ended(bucket, f"s3a://{bucket}/x")
            for named in ("s3a://", "s3a:///x", "s3a://bu_cket/x", "hdfs://"):
                ended(named, named)
            ended("hdfs", "hdfs://127.0.0.1:1/x")
            ended("unknown", "nosuch://x/y")
    return told


def appended(spark: SparkSession, out: str, records: Path) -> list[Any]:
    """After a run with one file, with one more, and with none that is new: new files, records,
    whether the tables are those of all records at once, and the runs that are left."""
    first, found = records / "a.jsonl", []
    for copies in ("", "b.jsonl", ""):
        if copies:
            shutil.copy(first, records / copies)
        about = append_profile(spark, [str(records)], out)
        place = PlaceOfStore(Store(spark, out))
        place.about()
        equal = [
            sorted(map(str, whole.to_pylist()))
            == sorted(
                str(row)
                for file in place.files(name) or ()
                for row in pq.read_table(pa.BufferReader(place.read(file))).to_pylist()
            )
            for name, whole in profile_tables(spark, [str(records)]).items()
        ]
        left = {name.split("/")[0] for name in place.store.lengths() if "/" in name}
        found.append([about["new_files"], about["totals"]["records"], equal, len(left)])
    return found


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
