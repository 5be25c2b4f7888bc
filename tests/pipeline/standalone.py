"""Spark's own standalone cluster out of pip's PySpark: a master and two workers on loopback.

Its workers run a Python that has what the documentation asks of it (numpy, pyarrow and what Spark
brings) and nothing else.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy
import pyarrow
import pyspark

from partage.java import find_java

SPARK = Path(pyspark.__file__).parent

Process = subprocess.Popen[bytes]

SETTINGS = """
spark.ui.enabled                false
spark.master.ui.port            0
spark.worker.ui.port            0
spark.master.rest.enabled       false
spark.driver.memory             768m
spark.executor.memory           512m
spark.driver.extraJavaOptions   -XX:TieredStopAtLevel=1 -XX:+UseSerialGC
spark.executor.extraJavaOptions -XX:TieredStopAtLevel=1 -XX:+UseSerialGC
spark.sql.shuffle.partitions    2
"""


@dataclass(frozen=True)
class Standalone:
    """A master and two workers: its URL, the environment that drivers need, its logs' folder."""

    url: str
    environment: Mapping[str, str]
    folder: Path
    worker_python: Path

    def start(self, running: ExitStack, name: str, *words: str) -> tuple[Path, Process]:
        """Start one of Spark's daemons, to be ended with ``running``; gives its log and process."""
        log = self.folder / f"{name}.log"
        with log.open("wb") as out:
            # these scripts become the Java that they start, so that its id is ours to end
            process = subprocess.Popen(
                words,
                stdout=out,
                stderr=subprocess.STDOUT,
                env=self.environment,
                cwd=self.folder,
                start_new_session=True,
            )
        running.callback(_end, process)
        return log, process

    def executors(self) -> list[int]:
        """The ids of the processes of executors: each works in a folder of its worker."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                ours = (process / "cwd").readlink().is_relative_to(self.folder / "worker-1")
                ours |= (process / "cwd").readlink().is_relative_to(self.folder / "worker-2")
                if ours and b"CoarseGrainedExecutorBackend" in (process / "cmdline").read_bytes():
                    found.append(int(process.name))
        return sorted(found)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def _until_it_listens(port: int, log: Path) -> None:
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError(log.read_text(errors="replace"))


def run(standalone: Standalone, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words,
        env=standalone.environment,
        cwd=standalone.folder,
        capture_output=True,
        text=True,
        timeout=300,
    )


@contextmanager
def opened(folder: Path) -> Iterator[Standalone]:
    """A cluster whose files are in ``folder``, ended with the block."""
    packages = folder / "packages"
    packages.mkdir()
    for package in (numpy, pyarrow):
        home = Path(package.__file__).parent
        # what a wheel links against lies beside it
        for found in (home, home.with_name(f"{home.name}.libs")):
            if found.exists():
                (packages / found.name).symlink_to(found)
    python = folder / "python"
    python.write_text(
        f'#!/bin/sh\nPYTHONPATH="{packages}:$PYTHONPATH" exec "{sys.executable}" -S "$@"\n'
    )
    python.chmod(0o755)
    (folder / "conf").mkdir()
    (folder / "conf" / "spark-defaults.conf").write_text(SETTINGS)
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SPARK_", "PYTHON"))}
    environment = kept | {
        "JAVA_HOME": str(find_java("Spark")),
        "SPARK_HOME": str(SPARK),
        "SPARK_CONF_DIR": str(folder / "conf"),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": str(python),
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }
    port = _free_port()
    cluster = Standalone(f"spark://127.0.0.1:{port}", environment, folder, python)
    spark_class, deploy = str(SPARK / "bin" / "spark-class"), "org.apache.spark.deploy"
    # Ended by SIGTERM, as timeout does it, the run still ends the cluster.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    with ExitStack() as running:
        running.callback(signal.signal, signal.SIGTERM, before)
        log, _ = cluster.start(
            running,
            "master",
            *(spark_class, f"{deploy}.master.Master", "-h", "127.0.0.1", "-p", str(port)),
        )
        _until_it_listens(port, log)
        for name in ("worker-1", "worker-2"):
            cluster.start(
                running,
                name,
                *(spark_class, f"{deploy}.worker.Worker", "-h", "127.0.0.1", "-c", "1"),
                *("-m", "1g", "-d", str(folder / name), cluster.url),
            )
        yield cluster


@contextmanager
def connect_server(
    standalone: Standalone, master: str, *more: str
) -> Iterator[tuple[str, Process]]:
    """The URL of a Connect server with this master and ``more`` options, and its process."""
    port = _free_port()
    with ExitStack() as running:
        log, server = standalone.start(
            running,
            "connect",
            *(str(SPARK / "bin" / "spark-submit"), "--master", master),
            *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer"),
            *("--conf", "spark.connect.grpc.binding.address=127.0.0.1"),
            *("--conf", f"spark.connect.grpc.binding.port={port}"),
            *more,
            "spark-internal",
        )
        _until_it_listens(port, log)
        yield f"sc://127.0.0.1:{port}", server
