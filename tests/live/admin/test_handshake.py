"""Listeners that are none, or say nothing that is certain: kafka-python is left to try."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

pytest.importorskip("kafka")

from partage.errors import PartageError
from partage.live.admin import handshake

PLAINTEXT = {"security_protocol": "PLAINTEXT"}


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
    ("answer", "why"),
    [
        (None, "no answer within 0.2 s"),
        (b"", "closes the connection"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "not a Kafka listener"),
        (b"\0\0\0\5\0\0\0\0\0", "not a Kafka listener"),
        (b"\0\0\0\2\0\0", "not a Kafka listener"),
    ],
    ids=["silent", "hangs up", "web server", "too short", "no head"],
)
def test_uncertain_causes_are_left_to_kafka_python(
    monkeypatch: pytest.MonkeyPatch, answer: bytes | None, why: str
) -> None:
    monkeypatch.setattr(handshake, "_SECONDS", 0.2)
    with answering(answer) as server:
        assert handshake.check_listener(server, PLAINTEXT) == {server: why}


def test_names_that_do_not_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the name server does not answer, the name may exist."""
    code = socket.EAI_NONAME

    def resolve(*_: object, **__: object) -> None:
        raise socket.gaierror(code, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    both = "no broker reachable at a:1 (no such host), b:2 (no such host)"
    with pytest.raises(PartageError, match=f"^{re.escape(both)}$"):
        handshake.check_listener("a:1,SSL://b:2", PLAINTEXT)
    code = socket.EAI_AGAIN
    assert handshake.check_listener("a:1", PLAINTEXT) == {"a:1": "name or service not known"}


def test_the_next_broker_is_asked_where_one_does_not_answer() -> None:
    wants_a_login = b"\0\0\0\x0f" + b"\0\0\0\0" + b"\0\x21" + b"\0\0\0\1" + b"\0\3ABC"
    with (
        answering(wants_a_login) as server,
        pytest.raises(PartageError, match=rf"^Kafka at {server}: the listener requires SASL"),
    ):
        handshake.check_listener(f"127.0.0.1:1,{server}", PLAINTEXT)
