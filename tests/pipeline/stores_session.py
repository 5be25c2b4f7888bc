"""Cases of ``test_stores`` in a Spark session of their own; prints their ends as JSON."""

from __future__ import annotations

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pyarrow as pa

from partage.errors import PartageError
from partage.pipeline.session import session
from partage.pipeline.sinks import Sink
from partage.pipeline.stores import Store
from tests.s3_server import BUCKET

OUT = f"s3a://{BUCKET}/out"
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


def main(silent: str) -> dict[str, Any]:
    told: dict[str, Any] = {}
    website = ThreadingHTTPServer(("127.0.0.1", 0), Website)
    threading.Thread(target=website.serve_forever, daemon=True).start()
    config = settings(silent, f"{HTTP}:{website.server_port}")
    with session("local[2]", short=True, config=config, paths=[OUT]) as spark:
        store = Store(spark, OUT)

        def seen() -> list[Any]:
            """Rows of the table that the marker lists, and which run it is of."""
            about = json.loads(store.read("mark.json") or "{}")
            files = [f"{OUT}/{name}" for name in about["files"]]
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

        write(OUT, 3, "one")
        told["first"], told["runs of the first"] = seen(), runs()
        told["again"] = refused(OUT)
        try:
            with Sink(OUT, "mark.json", overwrite=True).opened(spark) as tables:
                tables.add_here("keys", pa.table({"n": [1]}))
                raise PartageError("too many rejected rows")
        except PartageError:
            told["failed"], told["left by the failed"] = seen(), runs()
        write(OUT, 2, "two")
        told["replaced"], told["runs of the second"] = seen(), runs()
        killed = f"run-{'f' * 16}"
        spark.range(9).write.parquet(f"{OUT}/{killed}/keys")
        told["killed"], told["left by the killed"] = seen(), runs()

        Store(spark, f"s3a://{BUCKET}/mine").put("file", "mine", replace=False)
        told["of others"] = refused(f"s3a://{BUCKET}/mine")
        Store(spark, f"s3a://{BUCKET}/theirs").put("mark.json", "{}", replace=False)
        told["a marker of others"] = refused(f"s3a://{BUCKET}/theirs")

        changed = Store(spark, f"s3a://{BUCKET}/changed")
        write(changed.url, 1, "one")
        (first,) = {name.split("/")[0] for name in changed.lengths() if "/" in name}
        changed.put(f"{first}/keys/more", "mine", replace=False)
        write(changed.url, 1, "two")
        left = changed.lengths()
        told["changed since"] = [f"{first}/keys/more" in left, "mark.json" in left]

        for bucket in ("no-such-bucket", "no-credentials", "no-host", "refused", "silent"):
            ended(bucket, f"s3a://{bucket}/x")
        for bucket in ("not-s3", "not-found"):
            ended(bucket, f"s3a://{bucket}/x")
        ended("hdfs", "hdfs://127.0.0.1:1/x")
        ended("unknown", "nosuch://x/y")
    return told


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
