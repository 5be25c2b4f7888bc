"""Jars from Maven Central, pinned by SHA-256, in the user's cache.

A *set* of jars, such as ``kafka-4.3.0``, has a lock file in ``data/jars`` that names each jar and
its SHA-256 (``scripts/lock_jars.py`` writes it). A jar is downloaded over TLS into a temporary
folder and renamed into the set's folder only if it matches. Before each use every jar is
compared again, and a folder with any other jar is refused.

``PARTAGE_MAVEN`` names a mirror of Maven Central; ``https_proxy`` names a proxy.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import urlopen

from partage.errors import InputError, PartageError

MIRROR = "PARTAGE_MAVEN"
MAVEN_CENTRAL = "https://repo1.maven.org/maven2"
LOCKS = Path(__file__).parent / "data" / "jars"

_SECONDS = 60
"""Longest wait for the network."""
_CHUNK = 1 << 20
_LARGEST = 200 << 20
"""Bytes after which a download stops; the largest jar of any set has 48 MB."""

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Jar:
    """A jar of a lock file: Maven coordinates, SHA-256 in hexadecimal, SPDX licence expression."""

    group: str
    artifact: str
    version: str
    sha256: str
    licence: str

    @property
    def file(self) -> str:
        """The name of its file."""
        return f"{self.artifact}-{self.version}.jar"

    @property
    def path(self) -> str:
        """Its path in a Maven repository."""
        return f"{self.group.replace('.', '/')}/{self.artifact}/{self.version}/{self.file}"


def locked_versions(name: str) -> list[str]:
    """The versions of ``name`` that have a lock file, oldest first."""
    found = (path.stem.removeprefix(f"{name}-") for path in LOCKS.glob(f"{name}-[0-9]*.toml"))
    return sorted(found, key=lambda version: [int(part) for part in version.split(".")])


def locked_names(start: str) -> list[str]:
    """The sets whose names start like this."""
    return [path.stem for path in LOCKS.glob(f"{start}*.toml")]


def locked_jars(name: str) -> list[Jar]:
    """The jars of a set, by coordinates."""
    lock = tomllib.loads((LOCKS / f"{name}.toml").read_text(encoding="utf-8"))
    jars = []
    for coordinates, entry in sorted(lock.items()):
        group, artifact, version = coordinates.split(":")
        jars.append(Jar(group, artifact, version, entry["sha256"], entry["licence"]))
    return jars


def fetched_jars(name: str, what: str, instead: str, progress: Progress = lambda _: None) -> Path:
    """The folder of a set of jars, each compared with its SHA-256, downloaded if necessary.

    ``what`` they are, and what to do ``instead`` of downloading them, is for messages. Raises
    InputError for a mirror without TLS, PartageError if a jar cannot be downloaded, has another
    SHA-256, or does not belong to the set.
    """
    folder, jars = cache_folder(name), locked_jars(name)
    try:
        if missing := _missing(folder, jars, what):
            _download(folder, missing, what, instead, progress)
    except OSError as error:
        raise PartageError(f"{folder.parent}: {what} cannot be stored there ({error})") from None
    return folder


def jars_at_hand(name: str, what: str) -> Path | None:
    """The folder of a set if all jars are there, without downloading any. Raises PartageError for
    a jar that has another SHA-256 or does not belong to the set."""
    folder = cache_folder(name)
    return None if _missing(folder, locked_jars(name), what) else folder


def cache_folder(name: str) -> Path:
    """The folder ``name`` in the user's cache; it may not exist yet."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache).absolute() / "partage" / name


def mirror() -> str:
    """The address of the Maven repository. Raises InputError for one that is not https, or has a
    login: messages show the address."""
    address = os.environ.get(MIRROR) or MAVEN_CENTRAL
    parts = urlsplit(address)
    if parts.scheme != "https" or not parts.hostname or "@" in parts.netloc:
        raise InputError(MIRROR, "must be https://HOST[:PORT][/PATH], without user and password")
    return address.rstrip("/")


def _missing(folder: Path, jars: Iterable[Jar], what: str) -> list[Jar]:
    """The jars that are not in the folder; deletes one with another SHA-256 and raises."""
    by_file = {jar.file: jar for jar in jars}
    # Java loads those in capitals, too
    found = sorted(path for path in folder.glob("*") if path.suffix.lower() == ".jar")
    for path in found:
        if path.name not in by_file:
            raise PartageError(f"{path}: is not one of the jars of {what}: delete it")
        if (digest := _sha256(path)) != by_file[path.name].sha256:
            path.unlink()
            raise PartageError(
                f"{path}: SHA-256 is {digest}, expected {by_file[path.name].sha256}; deleted: run "
                "again to download it"
            )
    return [jar for file, jar in by_file.items() if folder / file not in found]


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _download(folder: Path, jars: list[Jar], what: str, instead: str, progress: Progress) -> None:
    """Download these jars and move them into the folder one by one."""
    base = mirror()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as temporary:
        for number, jar in enumerate(jars, start=1):
            progress(f"downloading {what}, once: {number} of {len(jars)} jars")
            address, target = f"{base}/{jar.path}", Path(temporary) / jar.file
            try:
                _fetch(address, target)
            except (HTTPError, HTTPException, OSError, ValueError) as error:
                why = getattr(error, "reason", None) or error
                raise PartageError(
                    f"{what} cannot be downloaded from {address} ({why}): {instead}"
                ) from None
            if (digest := _sha256(target)) != jar.sha256:
                raise PartageError(
                    f"{address}: SHA-256 is {digest}, expected {jar.sha256}: not kept"
                )
            target.replace(folder / jar.file)


def _fetch(address: str, target: Path) -> None:
    """Download a file over TLS, redirects included. Raises OSError, HTTPException, ValueError."""
    with urlopen(address, timeout=_SECONDS) as answer, target.open("wb") as file:
        if urlsplit(answer.url).scheme != "https":
            raise ValueError("redirected to an address without TLS")
        received = 0
        while chunk := answer.read(_CHUNK):
            received += len(chunk)
            if received > _LARGEST:
                raise ValueError(f"more than {_LARGEST >> 20} MB")
            file.write(chunk)
