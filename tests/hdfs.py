"""HDFS on loopback: Hadoop's own name node and data node, with the jars of Spark and one more."""

from __future__ import annotations

import getpass
import json
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.error import URLError
from urllib.request import Request, urlopen

import pyspark

from partage import jars
from partage.java import find_java

JAR = "hadoop-client-minicluster-3.5.0"
LOCKS = Path(__file__).parent / "data" / "jars"
SECONDS = 120


class Hdfs:
    """The file system. ``url``: of its top."""

    environment: Mapping[str, str] = {}

    def __init__(self, port: int, web: str) -> None:
        self.url = f"hdfs://127.0.0.1:{port}"
        self._web = web

    def put(self, name: str, content: bytes) -> None:
        """Write a file, as clients without Java do."""
        asked = f"op=CREATE&noredirect=true&user.name={getpass.getuser()}"
        request = Request(f"{self._web}/webhdfs/v1/{name}?{asked}", method="PUT")
        with urlopen(request, timeout=20) as answer:
            place = json.load(answer)["Location"]
        with urlopen(Request(place, data=content, method="PUT"), timeout=20):
            pass

    def is_up(self) -> bool:
        """Whether the name node answers, and a data node has registered."""
        try:
            (state,) = self._asked(_STATE)["beans"]
            return bool(
                state["NumLiveDataNodes"] == 1 and self._asked("/webhdfs/v1/?op=LISTSTATUS")
            )
        except (URLError, OSError, ValueError, KeyError):
            return False

    def _asked(self, what: str) -> Any:
        with urlopen(f"{self._web}{what}", timeout=5) as answer:
            return json.load(answer)


_STATE = "/jmx?qry=Hadoop:service=NameNode,name=FSNamesystemState"


@contextmanager
def hdfs(folder: Path) -> Iterator[Hdfs]:
    """A running, empty file system with its files in ``folder``."""
    with patch.object(jars, "LOCKS", LOCKS):
        servers = jars.fetched_jars(JAR, "Hadoop's servers for tests", "or run fewer tests")
    of_spark = Path(pyspark.__file__).parent / "jars"
    port, *others = _free_ports(5)
    web, data, ipc, data_web = (f"127.0.0.1:{number}" for number in others)
    settings = {
        "fs.defaultFS": f"hdfs://127.0.0.1:{port}",
        "hadoop.tmp.dir": str(folder / "tmp"),
        "dfs.replication": "1",
        "dfs.namenode.name.dir": (folder / "names").as_uri(),
        "dfs.namenode.http-address": web,
        "dfs.namenode.rpc-bind-host": "127.0.0.1",
        "dfs.datanode.data.dir": (folder / "data").as_uri(),
        "dfs.datanode.address": data,
        "dfs.datanode.ipc.address": ipc,
        "dfs.datanode.http.address": data_web,
        "dfs.datanode.hostname": "127.0.0.1",
        "dfs.namenode.datanode.registration.ip-hostname-check": "false",
    }
    values = (
        f"<property><name>{k}</name><value>{v}</value></property>" for k, v in settings.items()
    )
    (folder / "hdfs-site.xml").write_text(f"<configuration>{''.join(values)}</configuration>")
    path = f"{folder}:{servers}/*:{of_spark}/*"
    java = [str(find_java("HDFS") / "bin" / "java"), "-Xmx256m", "-XX:+UseSerialGC", "-cp", path]
    node = "org.apache.hadoop.hdfs.server"
    name_node, data_node = f"{node}.namenode.NameNode", f"{node}.datanode.DataNode"
    with (folder / "log").open("wb") as log, ExitStack() as running:
        told = {"stdout": log, "stderr": log}
        subprocess.run([*java, name_node, "-format"], check=True, timeout=SECONDS, **told)
        for server in (name_node, data_node):
            process = running.enter_context(subprocess.Popen([*java, server], **told))
            running.callback(process.kill)
        found = Hdfs(port, f"http://{web}")
        deadline = time.monotonic() + SECONDS
        while not found.is_up():
            assert time.monotonic() < deadline, (folder / "log").read_text(errors="replace")
            time.sleep(0.5)
        yield found


def _free_ports(count: int) -> list[int]:
    with ExitStack() as opened:
        sockets = [
            opened.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)
        ]
        return [one.getsockname()[1] for one in sockets]
