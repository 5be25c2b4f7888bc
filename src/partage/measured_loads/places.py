"""Where a profile is: a directory of this machine, or S3, which is read without Spark. Places in
other stores are of ``partage.pipeline.stored_places``.

In a store, ``profile.json`` lists the files of the tables, in a folder ``run-…``, with their
lengths; only these count. So it is for a local copy of such a profile. Otherwise, and in that of a
watch, which replaces its files one by one, the tables are the Parquet files of their folders.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from partage.errors import InputError, PartageError
from partage.files import check_not_empty, decoded, parse_json, read_bytes
from partage.outputs import is_store
from partage.redaction import redacted

MARKER = "profile.json"
RUN = "run-"
FILES = "files"

_LISTED = re.compile(r"(run-[0-9a-f]{16})/(?:[^/\\]*[^/\\.][^/\\]*/)+[^/\\]+")
_S3 = re.compile(r"s3[an]?://(?P<path>[^/?#@]+(?:/[^?#]*)?)$")

_CONNECT_SECONDS = 5
_REQUEST_SECONDS = 20


def run_of(name: Any) -> str | None:
    """The folder ``run-…`` of a listed file; None for a name that partage would not list."""
    found = _LISTED.fullmatch(name) if isinstance(name, str) else None
    return found[1] if found else None


class Place:
    """The directory of a profile on this machine. ``path``: the user's name for it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._folder = Path(path)
        self._listed: Any = None

    def shown(self, name: str) -> str:
        """The path of a file for messages."""
        return os.fspath(Path(self.path) / name)

    def has(self, name: str) -> bool:
        """Whether there is such a file."""
        return (self._folder / name).is_file()

    def read(self, name: str) -> bytes:
        """The bytes of a file. Raises InputError."""
        return read_bytes(self._folder / name)

    def check(self) -> None:
        """Raise InputError if it is not a directory with the marker."""
        check_not_empty(self.path)
        if not self._folder.is_dir():
            problem = "is a file" if self._folder.exists() else "no such directory"
            expected = "expected a directory written by `partage profile`"
            raise InputError(self.path, f"{problem}, {expected}")
        if not self.has(MARKER):
            raise self._without_marker()

    def _without_marker(self) -> InputError:
        problem = f"has no {MARKER}: not a directory written by `partage profile`"
        return InputError(self.path, problem)

    def about(self) -> Any:
        """The JSON value in the marker, whose list of files counts from now on. Raises
        InputError."""
        where = self.shown(MARKER)
        about = parse_json(decoded(self.read(MARKER), where), where)
        self._listed = about.get(FILES) if isinstance(about, dict) else None
        if self._listed is not None and not (
            isinstance(self._listed, dict) and all(map(run_of, self._listed))
        ):
            raise InputError(where, f"{FILES}: expected paths in a folder {RUN}…")
        return about

    @property
    def listed(self) -> tuple[str, ...]:
        """The files that the marker lists; none for a directory, whose files all count."""
        return tuple(self._listed or ())

    def files(self, table: str) -> list[str] | None:
        """The Parquet files of a table; None if there is no such table. Raises InputError."""
        if self._listed is None:
            return self._found(table)
        own = [name for name in self._listed if name.split("/")[1] == table]
        return sorted(name for name in own if name.endswith(".parquet")) if own else None

    def _found(self, table: str) -> list[str] | None:
        folder = self._folder / table
        if not folder.is_dir():
            return None
        return [f"{table}/{file.name}" for file in sorted(folder.glob("*.parquet"))]


class StoredPlace(Place):
    """One in a store; subclasses have ``has``, ``read``, ``names`` and ``check``."""

    def __init__(self, path: str) -> None:
        super().__init__(path.rstrip("/"))
        self._of_watch = False

    def shown(self, name: str) -> str:
        return f"{self.path}/{name}"

    def about(self) -> Any:
        about = super().about()
        self._of_watch = isinstance(about, dict) and "watch" in about
        return about

    def _found(self, table: str) -> list[str] | None:
        """The files of a table of a watch, which replaces them one by one and lists none."""
        if not self._of_watch:
            raise InputError(self.shown(table), "is not listed: the profile is not whole")
        names = sorted(self.names(table))
        own = [name for name in names if name.endswith(".parquet")]
        return [name for name in own if not name.rpartition("/")[2].startswith((".", "_"))] or None

    def names(self, folder: str) -> list[str]:
        """The files in a folder."""
        raise NotImplementedError


class _InS3(StoredPlace):
    """One in S3, read with pyarrow: credentials, region and endpoint are those of ``AWS_*``."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        found = _S3.match(self.path)
        if found is None:
            raise InputError(redacted(path), "expected s3a://BUCKET/PATH")
        self._path = found["path"]
        self._opened: Any = None

    def has(self, name: str) -> bool:
        from pyarrow import fs

        with self._errors(name):
            (found,) = self._store.get_file_info([f"{self._path}/{name}"])
            return bool(found.type == fs.FileType.File)

    def read(self, name: str) -> bytes:
        with self._errors(name), self._store.open_input_stream(f"{self._path}/{name}") as opened:
            return bytes(opened.read())

    def names(self, folder: str) -> list[str]:
        from pyarrow import fs

        with self._errors(folder):
            top = fs.FileSelector(f"{self._path}/{folder}", allow_not_found=True)
            found = self._store.get_file_info(top)
            return [f"{folder}/{one.base_name}" for one in found if one.type == fs.FileType.File]

    def check(self) -> None:
        if not self.has(MARKER):
            bucket = self._path.partition("/")[0]
            with self._errors(MARKER):
                (found,) = self._store.get_file_info([bucket])
            if found.type == type(found.type).NotFound:
                raise InputError(self.path, _NO_BUCKET)
            raise self._without_marker()

    @property
    def _store(self) -> Any:
        if self._opened is None:
            try:
                from pyarrow import fs
            except ImportError:
                from partage.installation import not_installed

                what = not_installed("pyarrow, which reads profiles,", "spark")
                raise PartageError(what) from None
            region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
            endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
            self._opened = fs.S3FileSystem(
                region=region or "us-east-1",
                endpoint_override=endpoint,
                connect_timeout=_CONNECT_SECONDS,
                request_timeout=_REQUEST_SECONDS,
                retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=2),
            )
        return self._opened

    @contextmanager
    def _errors(self, name: str) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            raise InputError(self.shown(name), "no such file: was it replaced meanwhile?") from None
        except (OSError, ValueError) as error:
            text = str(error)
            for pattern, problem in _PROBLEMS.items():
                if re.search(pattern, text):
                    raise InputError(self.path, problem) from None
            line = redacted(text.strip().splitlines()[0])[:200]
            raise PartageError(f"{self.path}: the store does not answer: {line}") from None


_NO_BUCKET = "no such bucket"
_PROBLEMS: Mapping[str, str] = {
    "NO_SUCH_BUCKET": _NO_BUCKET,
    "ACCESS_DENIED|INVALID_ACCESS_KEY_ID|SIGNATURE_DOES_NOT_MATCH|HTTP status 403": (
        "access denied: check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
    ),
}


def needs_spark(path: str) -> bool:
    """Whether a path is in a store that only Spark reaches."""
    return is_store(path) and not path.startswith(("s3a://", "s3n://", "s3://"))


def place_of(path: str) -> Place:
    """Where a profile is. Raises InputError for a store that is not read without Spark."""
    if needs_spark(path):
        problem = "Python reads profiles from s3a:// and local directories: copy it, for example "
        raise InputError(redacted(path), problem + "hdfs dfs -get")
    return _InS3(path) if is_store(path) else Place(path)
