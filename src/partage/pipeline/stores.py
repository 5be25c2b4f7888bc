"""Stores that Spark reaches through Hadoop's clients: ``s3a://``, ``hdfs://`` and others by URL.

Spark has the client of HDFS. That of S3 is added when a session is opened (``clients``);
credentials are those of Hadoop: ``AWS_*`` variables, or ``spark.hadoop.fs.s3a.*``.

Hadoop retries for many minutes where nothing answers, so each store is asked once with short limits
before it is used (``Store.reached``).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from partage.errors import InputError, PartageError
from partage.outputs import is_store
from partage.pipeline.clients import CLIENT
from partage.pipeline.compat_pyspark import hadoop_settings, java, java_array, java_exception
from partage.pipeline.session import is_connect
from partage.redaction import redacted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_WHOLE_AT_CLOSE = ("s3a", "gs")
"""Object stores: a new object is seen when all of it is there, and replaces the one before."""

_SHORT_LIMITS: Mapping[str, str] = {
    "fs.s3a.attempts.maximum": "1",
    "fs.s3a.retry.limit": "1",
    "fs.s3a.connection.establish.timeout": "5s",
    "fs.s3a.connection.timeout": "15s",
    "fs.s3a.connection.request.timeout": "15s",
    "ipc.client.connect.timeout": "5000",
    "ipc.client.connect.max.retries": "1",
    "ipc.client.connect.max.retries.on.timeouts": "1",
    "ipc.client.rpc-timeout.ms": "10000",
    "dfs.client.failover.max.attempts": "2",
    "dfs.client.retry.max.attempts": "2",
}

NO_CREDENTIALS = (
    "no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or spark.hadoop.fs.s3a.* in "
    "spark-defaults.conf"
)
_BAD_INPUT: Mapping[str, str] = {
    "bucket is null/empty|Expected scheme-specific part|HDFS URI, no host": (
        "names no bucket or host: expected s3a://BUCKET/PATH or hdfs://HOST/PATH, without _ in the "
        "name"
    ),
    "UnknownStoreException|NoSuchBucket": "no such bucket",
    "NoAwsCredentials|NoAuthWithAWS|Unable to load credentials": NO_CREDENTIALS,
    "InvalidAccessKeyId|SignatureDoesNotMatch|InvalidToken|ExpiredToken": (
        "the store does not accept these credentials"
    ),
    "AccessDenied|AccessControlException|Status Code: 403": "access denied",
    "UnknownHostException": "no such host: check the URL, and for S3 AWS_ENDPOINT_URL",
    "UnsupportedOperationException": (
        "Spark cannot list the files at such URLs: download them, or name a store (s3a://, hdfs://)"
    ),
    "SSLException|SSLHandshake|SSLPeer": "no TLS with this store: check AWS_ENDPOINT_URL",
    "No FileSystem for scheme|UnsupportedFileSystemException": (
        "Spark has no client for such URLs: add its jar with --conf spark.jars.packages=…"
    ),
    "NullPointerException|AWSBadRequest|AWSRedirect|Status Code: [34]|Could not parse": (
        "what answers is not S3: check AWS_ENDPOINT_URL"
    ),
}
"""What a message of Hadoop matches, and the problem of the URL. The first match counts."""

_NO_ANSWER = re.compile(
    "ConnectException|NoRouteToHost|[Tt]imed ?out|Timeout|SocketException|EOFException"
    "|NoHttpResponse|Status Code: 5"
)


class Store:
    """A directory in a store. Relative paths are below it; ``url`` has no slash at its end,
    but for one that names no bucket."""

    def __init__(self, spark: SparkSession, url: str) -> None:
        self.url = re.sub(r"(?<![:/])/+$", "", url)
        self._spark = spark
        if is_connect(spark):
            raise InputError(url, "needs Spark itself, not Spark Connect, to be written")
        self._hadoop = java(spark).org.apache.hadoop
        self._conf = hadoop_settings(spark)

    @property
    def _files(self) -> Any:
        return self._path("").getFileSystem(self._conf)

    def _path(self, name: str) -> Any:
        return self._hadoop.fs.Path(f"{self.url}/{name}" if name else self.url)

    def reached(self) -> bool:
        """Whether the directory exists. Raises InputError and PartageError within a minute if the
        store cannot be used."""
        conf = self._hadoop.conf.Configuration(self._conf)
        for name, value in _SHORT_LIMITS.items():
            conf.set(name, value)
        with store_errors(self.url):
            path = self._path("")
            files = self._hadoop.fs.FileSystem.newInstance(path.toUri(), conf)
            try:
                # A list, because any web server may answer a question for one file.
                files.listStatusIterator(path).hasNext()
            except Exception as error:
                if _is_missing(error):
                    return False
                raise
            finally:
                files.close()
        return True

    def lengths(self, name: str = "") -> dict[str, int]:
        """The bytes of all files below a directory, by relative path; none if it is missing."""
        found: dict[str, int] = {}
        top = self._path("").toUri().getPath().rstrip("/") + "/"
        with store_errors(self.url):
            if not self._files.exists(self._path(name)):
                return {}
            listed = self._files.listFiles(self._path(name), True)
            while listed.hasNext():
                one = listed.next()
                found[one.getPath().toUri().getPath().removeprefix(top)] = one.getLen()
        return found

    def has(self, name: str) -> bool:
        """Whether there is such a file."""
        with store_errors(self.url):
            return bool(self._files.exists(self._path(name)))

    def read(self, name: str) -> bytes | None:
        """The bytes of a file; None if it is missing."""
        with store_errors(self.url):
            if not self._files.exists(self._path(name)):
                return None
            opened = self._files.open(self._path(name))
            try:
                return bytes(opened.readAllBytes())
            finally:
                opened.close()

    def copy_here(self, name: str, place: Path) -> None:
        """Copy a file to this machine. Raises PartageError if it is missing."""
        with store_errors(self.url):
            here = self._hadoop.fs.Path(place.absolute().as_uri())
            self._files.copyToLocalFile(False, self._path(name), here, True)

    def put(self, name: str, content: str | bytes, *, replace: bool) -> None:
        """Write a file whole or not at all. Raises InputError if there is one and it must not
        be replaced."""
        data = bytearray(content.encode() if isinstance(content, str) else content)
        with store_errors(self.url):
            place = self._path(name)
            if not replace and self._files.exists(place):
                raise InputError(self.url, "already exists: `overwrite` replaces it")
            if urlsplit(self.url).scheme in _WHOLE_AT_CLOSE:
                self._write(place, data, replace)
                return
            folder, slash, base = name.rpartition("/")
            beside = self._path(f"{folder}{slash}.{base}.{os.urandom(8).hex()}")
            try:
                self._write(beside, data, False)
                self._rename(beside, place, replace)
            finally:
                with suppress(Exception):
                    self._files.delete(beside, False)

    def place(self, source: str, name: str) -> None:
        """Move a file; an earlier one in its place is replaced in one step."""
        here, place = self._path(source), self._path(name)
        with store_errors(self.url):
            if urlsplit(self.url).scheme in _WHOLE_AT_CLOSE:
                copy, files = self._hadoop.fs.FileUtil.copy, self._files
                copy(files, here, files, place, True, True, self._conf)
                return
            self._files.mkdirs(place.getParent())
            self._rename(here, place, True)

    def _rename(self, source: Any, place: Any, replace: bool) -> None:
        context = self._hadoop.fs.FileContext.getFileContext(place.toUri(), self._conf)
        kind = self._hadoop.fs.Options.Rename
        how = kind.OVERWRITE if replace else kind.NONE
        context.rename(source, place, java_array(self._spark, kind, how))

    def _write(self, place: Any, data: bytearray, replace: bool) -> None:
        out = self._files.create(place, replace)
        out.write(data)
        out.close()  # an error before it leaves nothing

    def remove(self, name: str) -> None:
        """Remove a directory and all below it."""
        with store_errors(self.url):
            self._files.delete(self._path(name), True)


def check_reached(spark: SparkSession, path: str) -> None:
    """Raise InputError or PartageError if ``path`` is in a store that cannot be used, which Spark
    would find out after many minutes."""
    if is_store(path) and not is_connect(spark):
        above = re.split(r"[*?\[{]", path, maxsplit=1)[0]
        if above != path:
            above = above.rpartition("/")[0]
        if not Store(spark, above).reached():
            raise InputError(path, "no such file or directory")


@contextmanager
def store_errors(url: str) -> Iterator[None]:
    """Turn errors of Hadoop's clients into errors of one line."""
    from py4j.protocol import Py4JError, Py4JJavaError
    from pyspark.errors.exceptions.captured import CapturedException

    try:
        yield
    except (Py4JJavaError, CapturedException) as error:  # the latter: some kinds of the former
        text = _with_causes(error)
        if "ClassNotFoundException" in text:
            packages = f"spark.jars.packages=org.apache.hadoop:{CLIENT}:VERSION"
            problem = f"Spark has no client for such URLs: start it with --conf {packages}"
            raise InputError(url, problem) from None
        if _NO_ANSWER.search(text):
            raise PartageError(f"{url}: the store does not answer: {_last(text)}") from None
        for pattern, problem in _BAD_INPUT.items():
            if re.search(pattern, text):
                raise InputError(url, problem) from None
        raise PartageError(f"{url}: {_last(text)}") from None
    except Py4JError as error:
        raise PartageError(f"{url}: {redacted(str(error).splitlines()[0])[:300]}") from None


def _with_causes(error: Any) -> str:
    """What Java has thrown, and its causes, which are more precise: one a line."""
    lines: list[str] = []
    cause = java_exception(error)
    while cause is not None and len(lines) < 9:
        lines.append(" ".join(str(cause).split()))
        cause = cause.getCause()
    return "\n".join(lines)


def _is_missing(error: Any) -> bool:
    """Whether the store has no such file. What is not S3 fails in other ways."""
    from py4j.protocol import Py4JJavaError

    if not isinstance(error, Py4JJavaError):
        return False
    text = _with_causes(error)
    return text.startswith("java.io.FileNotFoundException") and "Status Code" not in text


def _last(text: str) -> str:
    """The innermost message, without class names."""
    line = re.sub(r"^(?:[\w$]+\.)+[\w$]+:\s*", "", text.strip().splitlines()[-1])
    return redacted(line)[:200]
