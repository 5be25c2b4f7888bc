"""A store that speaks S3's protocol, on loopback: moto's server in a thread."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import boto3
import pytest
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

BUCKET = "bucket"
KEY, SECRET = "CanaryAccessKey", "CanarySecretKey"


class S3Server:
    """The server. ``environment``: the variables with which clients reach it; ``client``: boto3's
    client of it; ``url``: of its bucket."""

    def __init__(self, port: int) -> None:
        self.url = f"s3a://{BUCKET}"
        self.address = f"http://127.0.0.1:{port}"
        self.environment: Mapping[str, str] = {
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_ENDPOINT_URL": self.address,
            "AWS_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        self.client: Any = boto3.client(
            "s3",
            endpoint_url=self.address,
            region_name="us-east-1",
            aws_access_key_id=KEY,
            aws_secret_access_key=SECRET,
        )
        self.client.create_bucket(Bucket=BUCKET)

    def names(self, prefix: str = "") -> list[str]:
        """The objects in the bucket."""
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=prefix)
        return [one["Key"] for page in pages for one in page.get("Contents", ())]

    def read(self, name: str) -> bytes:
        """An object of the bucket."""
        return bytes(self.client.get_object(Bucket=BUCKET, Key=name)["Body"].read())

    def put(self, name: str, content: bytes) -> None:
        """Write an object of the bucket."""
        self.client.put_object(Bucket=BUCKET, Key=name, Body=content)

    def use(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let this process and those that it starts reach the server."""
        for name, value in self.environment.items():
            monkeypatch.setenv(name, value)


@contextmanager
def s3_server() -> Iterator[S3Server]:
    """A running server with an empty bucket."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    application = DomainDispatcherApplication(create_backend_app)
    server = make_server("127.0.0.1", 0, application, threaded=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield S3Server(server.server_port)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
