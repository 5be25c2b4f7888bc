"""The proxy: a client that is cut off receives nothing until the cut ends; others do."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Iterator

import pytest

from tests.faults.proxy import HOST, Proxies


@pytest.fixture
def proxies() -> Iterator[Proxies]:
    """In front of broker 7, which echoes."""
    with socket.create_server((HOST, 0)) as server:

        def echo(connection: socket.socket) -> None:
            with connection:
                while data := connection.recv(1000):
                    connection.sendall(data)

        def serve() -> None:
            with contextlib.suppress(OSError):  # closed at the end
                while True:
                    threading.Thread(target=echo, args=server.accept()[:1], daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        opened = Proxies()
        opened.open(7)
        opened.targets[7] = server.getsockname()[1]
        yield opened
        opened.close()
        server.shutdown(socket.SHUT_RDWR)


def connected(proxies: Proxies, client: str) -> socket.socket:
    """A connection whose first request says who it is, and has come back."""
    opened = socket.create_connection((HOST, proxies.ports[7]), timeout=10)
    request = struct.pack(">ihhih", 10 + len(client), 18, 3, 1, len(client)) + client.encode()
    opened.sendall(request)
    assert opened.recv(len(request), socket.MSG_WAITALL) == request
    opened.settimeout(0.3)
    return opened


def test_one_client_is_cut_off_and_comes_back(proxies: Proxies) -> None:
    with connected(proxies, "partage") as ours, connected(proxies, "producer") as theirs:
        proxies.cut(7, lambda client: client == "partage")
        ours.sendall(b"held back")
        theirs.sendall(b"passes")
        assert theirs.recv(100) == b"passes"
        with pytest.raises(TimeoutError):
            ours.recv(100)
        proxies.restore(7)
        ours.settimeout(10)
        assert ours.recv(100) == b"held back"


def test_a_broker_that_is_down_hangs_up(proxies: Proxies) -> None:
    with socket.create_server((HOST, 0)) as gone:
        proxies.targets[7] = gone.getsockname()[1]
    with socket.create_connection((HOST, proxies.ports[7]), timeout=10) as opened:
        opened.sendall(struct.pack(">ihhih", 10, 18, 3, 1, 0))
        assert opened.recv(100) == b""
