"""The nodes of a sandbox: ids, racks, addresses on the loopback.

One node is the controller only, the others are brokers only. So any number of brokers can be killed
and the rest of the cluster continues. With three nodes that are both there would be one process
less, but the cluster would stop as soon as two of them are down.

A free port is found by binding it, held while the settings are written, and released just before
the process starts. If another process takes it in between, the node ends with a message in its log
and starts again with another port.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from partage.errors import InputError
from partage.printable import is_printable

BROKERS = 3
MOST_BROKERS = 30
"""At 200 MB each, more is probably a typing error."""

MOST_LOG_DIRS = 20

CONTROLLER = 0
HOST = "127.0.0.1"

WRITTEN_BY_A_NODE = re.compile(
    r"""
    server\.(properties|log(\.1)?) | java-error\.log | tmp/[^/]+\.(so|dylib|lck|tmp)
    | data(-\d+)?/(meta\.properties|bootstrap\.checkpoint|[a-z-]+-checkpoint)(\.tmp)?
    | data(-\d+)?/\.(lock|kafka_cleanshutdown)(\.tmp)?
    | data(-\d+)?/[^/]+-\d+(\.[0-9a-f]+-(delete|future|stray))?/
      ( \d{20}(-\d{10})?\.[a-z]+(\.[a-z]+)*
      | (partition\.metadata|leader-epoch-checkpoint|quorum-state|\.lock)(\.tmp)? )
    """,
    re.VERBOSE,
)
"""Paths in the folder of a node that partage, Kafka and Java write."""


@dataclass(frozen=True)
class Node:
    """One process of a sandbox: the controller (id 0) or a broker. Without ``pid`` it is down.

    ``more_ports``: the ports of its other listeners, in a secured sandbox; ``log_dirs``: how many.
    """

    id: int
    rack: str | None = None
    port: int = 0
    pid: int | None = None
    more_ports: tuple[int, ...] = ()
    log_dirs: int = 1

    @property
    def name(self) -> str:
        """Its name in messages, and of its folder."""
        return f"broker-{self.id}" if self.id else "controller"

    @property
    def data(self) -> list[str]:
        """The names of its log dirs in its folder."""
        return ["data", *(f"data-{number}" for number in range(2, self.log_dirs + 1))]

    @property
    def address(self) -> str:
        """``127.0.0.1:PORT`` of its first listener."""
        return f"{HOST}:{self.port}"

    @property
    def addresses(self) -> tuple[str, ...]:
        """The addresses of all its listeners."""
        return tuple(f"{HOST}:{port}" for port in (self.port, *self.more_ports))


def layout(
    brokers: int | None, racks: Sequence[str] | None, log_dirs: int | None = None
) -> list[Node]:
    """Brokers with ids from 1, in the racks round robin, with so many log dirs each (1). Raises
    InputError."""
    dirs = 1 if log_dirs is None else log_dirs
    if not 1 <= dirs <= MOST_LOG_DIRS:
        raise InputError("log_dirs", f"{dirs}: expected 1 to {MOST_LOG_DIRS}")
    count = max(BROKERS, len(racks or ())) if brokers is None else brokers
    if not 1 <= count <= MOST_BROKERS:
        raise InputError("brokers", f"{count}: expected 1 to {MOST_BROKERS}")
    if racks is None:
        return [Node(number + 1, log_dirs=dirs) for number in range(count)]
    names = [checked(rack, "racks") for rack in racks]
    if not names or len(names) > count:
        raise InputError(
            "racks", f"{len(names)} racks for {count} brokers: expected a broker for each rack"
        )
    return [Node(number + 1, names[number % len(names)], log_dirs=dirs) for number in range(count)]


def checked(rack: str | None, option: str) -> str | None:
    """The name of a rack, stripped. Raises InputError if it is blank or not printable."""
    if rack is not None and not (rack.strip() and is_printable(rack)):
        raise InputError(option, f"{rack!r}: expected the name of a rack")
    return None if rack is None else rack.strip()


@contextmanager
def bound(port: int) -> Iterator[socket.socket]:
    """A socket that holds this port on the loopback, or another free one if it is taken."""
    with socket.socket() as held:
        try:
            if port:
                # As Java does: connections of an earlier run may still be closing.
                held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                held.bind((HOST, port))
        except OSError:
            port = 0
        if not port:
            held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 0)
            held.bind((HOST, 0))
        yield held
