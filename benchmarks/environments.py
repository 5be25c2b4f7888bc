"""The peers' environments, created on first use in the user's cache folder.

Each peer has a separate environment, because they pin old clients: a virtual environment with the
package from PyPI, or Kafka's jars from Maven Central. Packages and jars are pinned by version and
SHA-256. The peers are under the Apache License 2.0; partage does not ship them.

The folder is ``$XDG_CACHE_HOME/partage-benchmarks``, or ``~/.cache/partage-benchmarks``. An
environment is complete if it has a file ``ready``; an incomplete one is created again.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
RUNNERS = HERE / "peers"
SECONDS = 300
"""Time limit of each step that uses the network or builds."""


def _pinned(peer: str) -> str:
    """The version of a peer in its requirements: ``peers/PEER.txt``, with hashes."""
    text = (RUNNERS / f"{peer}.txt").read_text(encoding="utf-8")
    (version,) = re.findall(rf"^{peer}==(\S+)", text, re.MULTILINE)
    return version


BUBUKU = _pinned("bubuku")
KAFKA_UTILS = _pinned("kafka-utils")
REBALANCER = _pinned("rebalancer")
KAFKA = "4.3.1"

REBALANCER_PYTHONS = ((3, 12), (3, 13), (3, 14))
"""The versions of Python with a wheel of rebalancer."""

MAVEN = "https://repo1.maven.org/maven2/"
_GROUPS = "org/apache/kafka/kafka-group-coordinator"
JARS = {
    f"org/apache/kafka/kafka-tools/{KAFKA}/kafka-tools-{KAFKA}.jar": (
        "62f3c5dd7aa3442d4c5bc6a95f86e2502178ea09de8e27f74d9563bf955e253c"
    ),
    f"org/apache/kafka/kafka-metadata/{KAFKA}/kafka-metadata-{KAFKA}.jar": (
        "4d73a96c6474a4ebdd67a1cee14da1a94cfd6bb9e6e252685ba5667d8ab7f898"
    ),
    f"org/apache/kafka/kafka-clients/{KAFKA}/kafka-clients-{KAFKA}.jar": (
        "52501b7b47510c66f898871adaf6d2968ab7246561d44ced43643a8a587f0b36"
    ),
    f"org/apache/kafka/kafka-server-common/{KAFKA}/kafka-server-common-{KAFKA}.jar": (
        "d7c719f749579a399011f0df7414de8a78f10f074a6122caa550fdb141351575"
    ),
    f"{_GROUPS}/{KAFKA}/kafka-group-coordinator-{KAFKA}.jar": (
        "4ab56d002e1624185c874199e9e0ffb243dbeb9f68b4d0cadf48ce2f617a1126"
    ),
    f"{_GROUPS}-api/{KAFKA}/kafka-group-coordinator-api-{KAFKA}.jar": (
        "d81bc1a3739ff6c9b21815baae00022306342a16d3d94e6a2621201b9980a30d"
    ),
    "com/fasterxml/jackson/core/jackson-databind/2.21.2/jackson-databind-2.21.2.jar": (
        "8c982f01f148d805f0aaac2339011244757e0df7c6ff8951f2fa3f433b8ed849"
    ),
    "com/fasterxml/jackson/core/jackson-core/2.21.2/jackson-core-2.21.2.jar": (
        "12e8655b100267b44d0f14d01b1f5082a5105e616174dc4307be1a761e92407b"
    ),
    "com/fasterxml/jackson/core/jackson-annotations/2.21/jackson-annotations-2.21.jar": (
        "53ca085f4a150f703f49e1aabd935bd03b43e1ea3d55d135438292af22cef56b"
    ),
    "net/sf/jopt-simple/jopt-simple/5.0.4/jopt-simple-5.0.4.jar": (
        "df26cc58f235f477db07f753ba5a3ab243ebe5789d9f89ecf68dd62ea9a66c28"
    ),
    "org/slf4j/slf4j-api/1.7.36/slf4j-api-1.7.36.jar": (
        "d3ef575e3e4979678dc01bf1dcce51021493b4d11fb7f1be8ad982877c16a1c0"
    ),
}
CLIENTS = {
    "3.7.0": "0a74867a6d393ee4869c41a4af87009b01c3a017c2b1c42e3d724c89ae0d2d3f",
}
"""SHA-256 of kafka-clients of earlier versions."""


class UnavailableError(Exception):
    """The environment cannot be created here; the text is the reason."""


def cache() -> Path:
    """The folder of all environments."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "partage-benchmarks"


def partage() -> list[str]:
    """The command of partage's runner: this environment."""
    return [sys.executable, str(RUNNERS / "run_partage.py")]


def bubuku() -> list[str]:
    """The command of bubuku's runner, without bubuku's dependencies, which its planners do not
    need.

    Its build needs setuptools before 72, which still has the ``test`` command.
    """

    def make(folder: Path) -> None:
        _install(folder, "bubuku")

    python = environment(f"bubuku-{BUBUKU}", make) / "venv" / "bin" / "python"
    return [str(python), str(RUNNERS / "run_bubuku.py")]


def kafka_utils() -> list[str]:
    """The command of kafka-utils' runner, with the dependencies of its planner."""

    def make(folder: Path) -> None:
        _install(folder, "kafka-utils")

    python = environment(f"kafka-utils-{KAFKA_UTILS}", make) / "venv" / "bin" / "python"
    return [str(python), str(RUNNERS / "run_kafka_utils.py")]


def rebalancer() -> list[str]:
    """The command of the runner of Meta's rebalancer, which has wheels for some later Pythons
    only."""

    def make(folder: Path) -> None:
        _install(folder, "rebalancer", later_python())

    python = environment(f"rebalancer-{REBALANCER}", make) / "venv" / "bin" / "python"
    return [str(python), str(RUNNERS / "run_rebalancer.py")]


def later_python() -> str:
    """A Python that rebalancer has wheels for, of this machine. Raises UnavailableError."""
    if sys.version_info[:2] in REBALANCER_PYTHONS:
        return sys.executable
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    for major, minor in REBALANCER_PYTHONS:
        name = f"python{major}.{minor}"
        found = [shutil.which(name), *map(str, sorted(pyenv.glob(f"*/bin/{name}")))]
        for python in filter(None, found):
            # a shim of pyenv is there even where its Python is not active
            if subprocess.run([python, "-c", ""], capture_output=True).returncode == 0:
                return python
    names = ", ".join(f"{major}.{minor}" for major, minor in REBALANCER_PYTHONS)
    raise UnavailableError(f"no Python {names} found")


def kafka() -> list[str]:
    """The command of Kafka's runner."""
    return compiled(RUNNERS / "RunKafka.java", "kafka")


def compiled(source: Path, name: str, version: str = KAFKA) -> list[str]:
    """The command of a runner in Java, one class compiled in a folder with Kafka's jars; of another
    version than ``KAFKA`` with its clients.

    Needs a JDK, 17 or later.
    """
    jars = dict(JARS)
    if version != KAFKA:
        jars = {path: digest for path, digest in JARS.items() if "org/apache/kafka" not in path}
        path = f"org/apache/kafka/kafka-clients/{version}/kafka-clients-{version}.jar"
        jars[path] = CLIENTS[version]

    def make(folder: Path) -> None:
        for path, digest in jars.items():
            download(MAVEN + path, folder / Path(path).name, digest)
        call([tool("javac"), "-cp", f"{folder}/*", "-d", str(folder), str(source)])

    contents = source.read_text(encoding="utf-8") + "".join(jars.values())
    folder = environment(
        f"{name}-{version}-{hashlib.sha256(contents.encode()).hexdigest()[:8]}", make
    )
    return [tool("java"), "-cp", f"{folder}{os.pathsep}{folder}/*", source.stem]


def environment(name: str, make: Callable[[Path], None]) -> Path:
    """The folder of an environment, created unless it is ready."""
    folder = cache() / name
    if not (folder / "ready").exists():
        print(f"creating {folder}", file=sys.stderr)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        make(folder)
        (folder / "ready").touch()
    return folder


def _install(folder: Path, peer: str, interpreter: str = sys.executable) -> None:
    """Create a virtual environment of a Python, of this one by default, with exactly the packages
    of ``peers/PEER.txt``, and what builds them of ``peers/build.txt``."""
    uv = shutil.which("uv") or str(HERE.parent / ".tools" / "bin" / "uv")
    venv = folder / "venv"
    call([uv, "venv", "--quiet", "--python", interpreter, str(venv)])
    python = str(venv / "bin" / "python")
    install = [uv, "pip", "install", "--quiet", "--no-deps", "--python", python]
    hashes = ["--require-hashes", "--build-constraints", str(RUNNERS / "build.txt")]
    call([*install, *hashes, "-r", str(RUNNERS / f"{peer}.txt")])


def download(address: str, file: Path, digest: str) -> None:
    """Download a file and check its SHA-256. Raises UnavailableError."""
    try:
        with urllib.request.urlopen(address, timeout=60) as answer:
            content = answer.read()
    except OSError as error:
        raise UnavailableError(f"{address}: {error}") from None
    if hashlib.sha256(content).hexdigest() != digest:
        raise UnavailableError(f"{address}: SHA-256 is not {digest}")
    file.write_bytes(content)


def tool(name: str) -> str:
    """The path of a program of the JDK. Raises UnavailableError."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which(str(Path(home) / "bin" / name)) if home else None
    found = found or shutil.which(name)
    if not found:
        raise UnavailableError(f"{name} not found: install a JDK or set JAVA_HOME")
    return found


def call(command: list[str]) -> None:
    """Run a command. Raises UnavailableError with the last line of its stderr."""
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.CalledProcessError as error:
        last = (error.stderr.strip() or "no message").splitlines()[-1]
        raise UnavailableError(f"{Path(command[0]).name}: {last}") from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnavailableError(f"{Path(command[0]).name}: {error}") from None
