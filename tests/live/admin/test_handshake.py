"""Listeners that are none, or say nothing that is certain: kafka-python is left to try."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

pytest.importorskip("kafka")

from partage.errors import PartageError
from partage.live.admin import handshake


@contextmanager
def answering(answer: bytes | None) -> Iterator[str]:
    """A listener that answers whatever it is asked with these bytes, and hangs up; None: with
    nothing, and does not."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        held = []

        def serve() -> None:
            while True:
                try:
                    client, _ = server.accept()
                except OSError:
                    return
                held.append(client)
                if answer is not None:
                    client.recv(1000)
                    client.sendall(answer)
                    client.close()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield f"127.0.0.1:{server.getsockname()[1]}"
        finally:
            server.shutdown(socket.SHUT_RDWR)
            for client in held:
                client.close()
            thread.join()


@pytest.mark.parametrize(
    "answer",
    [None, b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\0\0\0\5\0\0\0\0\0", b"\0\0\0\2\0\0"],
    ids=["silent", "hangs up", "web server", "too short", "no head"],
)
def test_uncertain_causes_are_not_reported(
    monkeypatch: pytest.MonkeyPatch, answer: bytes | None
) -> None:
    monkeypatch.setattr(handshake, "_SECONDS", 0.2)
    with answering(answer) as server:
        handshake.check_listener(server, {"security_protocol": "PLAINTEXT"})


def test_the_next_broker_is_asked_where_one_does_not_answer() -> None:
    wants_a_login = b"\0\0\0\x0f" + b"\0\0\0\0" + b"\0\x21" + b"\0\0\0\1" + b"\0\3ABC"
    with (
        answering(wants_a_login) as server,
        pytest.raises(PartageError, match=rf"^Kafka at {server}: the listener requires SASL"),
    ):
        handshake.check_listener(f"127.0.0.1:1,{server}", {"security_protocol": "PLAINTEXT"})
