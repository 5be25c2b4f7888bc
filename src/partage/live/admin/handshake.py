"""Whether a listener takes clients as this one is: asked before kafka-python goes there.

That one tries again and again whatever is wrong, a certificate or a password too, and says in the
end only that nobody answered. Here one connection is made: TLS as the settings want it, and in it
one request, which every listener of Kafka understands and answers in its way: ``SaslHandshake``
(KIP-43). Who wants a login names the mechanisms; who wants none says that this is no moment for it
(``ILLEGAL_SASL_STATE``). Then the login.

Only what is certain is told. A broker that does not answer, or ends the connection without a
reason, may be starting: kafka-python tries again then.
"""

from __future__ import annotations

import socket
import ssl
import struct
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from kafka.errors import KafkaError
from kafka.net.sasl import get_sasl_mechanism

from partage.errors import PartageError

_SECONDS = 5.0

_SASL_HANDSHAKE = (17, 1)
_SASL_AUTHENTICATE = (36, 0)
"""Key and version of the requests; neither has flexible fields."""

_UNSUPPORTED_MECHANISM = 33
_ILLEGAL_STATE = 34
_MOST_BYTES = 1 << 20


class _RefusalError(Exception):
    """What is certainly wrong, as it follows "Kafka at HOST:PORT: "."""


def check(servers: str, config: Mapping[str, Any]) -> None:
    """Ask the first broker that answers; ``config`` as kafka-python takes it.

    Raises PartageError that says what is wrong: with the certificate, the protocol, the login.
    """
    for server in servers.split(","):
        address = server.strip().rpartition("://")[2]
        try:
            _greet(address, config)
            return
        except _RefusalError as refusal:
            raise PartageError(f"Kafka at {address}: {refusal}") from None
        except (OSError, ValueError, struct.error):
            continue


def _greet(address: str, config: Mapping[str, Any]) -> None:
    protocol = str(config["security_protocol"])
    try:
        with _connected(address, config.get("ssl_context")) as listener:
            _log_in(listener, protocol, config)
    except ssl.SSLCertVerificationError as error:
        said = error.verify_message.rstrip(".")
        raise _RefusalError(f"its certificate is not accepted: {said}") from None
    except (OSError, ValueError, struct.error) as error:
        # its reason may be that the other side speaks another language
        if protocol.endswith("SSL"):
            if _answers_without_tls(address):
                raise _RefusalError(
                    f"it speaks no TLS there, and security.protocol is {protocol}"
                ) from None
            if isinstance(error, ssl.SSLError) and "ALERT" in (error.reason or ""):
                raise _RefusalError(_alert(error, config["ssl_context"])) from None
        elif _speaks_tls(address):
            raise _RefusalError(
                f"it speaks TLS there, and security.protocol is {protocol}"
            ) from None
        raise


def _log_in(listener: socket.socket, protocol: str, config: Mapping[str, Any]) -> None:
    mechanism = config.get("sasl_mechanism") or ""
    code, offered = _handshake(listener, mechanism)
    if not protocol.startswith("SASL"):
        if code != _ILLEGAL_STATE:
            raise _RefusalError(f"it wants a login (SASL), and security.protocol is {protocol}")
        return
    if code == _ILLEGAL_STATE:
        raise _RefusalError(f"it takes no login (SASL) there, and security.protocol is {protocol}")
    if code == _UNSUPPORTED_MECHANISM or mechanism not in offered:
        raise _RefusalError(f"sasl.mechanism {mechanism} is not offered, only {', '.join(offered)}")
    steps = get_sasl_mechanism(mechanism)(host="", **config)
    try:
        while not steps.is_done():
            token = steps.auth_bytes()
            answer = _asked(listener, _SASL_AUTHENTICATE, struct.pack(">i", len(token)) + token)
            (code,) = struct.unpack_from(">h", answer)
            if code:
                raise _RefusalError(f"the login of user {config['sasl_plain_username']} is refused")
            (length,) = struct.unpack_from(">h", answer, 2)
            steps.receive(answer[4 + max(length, 0) + 4 :])
    except KafkaError as error:
        raise _RefusalError(f"it cannot prove that it knows the password: {error}") from None


def _handshake(listener: socket.socket, mechanism: str) -> tuple[int, list[str]]:
    """Its error code, and the mechanisms it offers."""
    answer = _asked(listener, _SASL_HANDSHAKE, _string(mechanism))
    code, count = struct.unpack_from(">hi", answer)
    place, offered = 6, []
    for _ in range(count):
        (length,) = struct.unpack_from(">h", answer, place)
        offered.append(answer[place + 2 : place + 2 + length].decode())
        place += 2 + length
    return code, offered


# ---------------------------------------------------------------------- what speaks there


def _answers_without_tls(address: str) -> bool:
    with suppress(OSError, ValueError, struct.error), _connected(address) as listener:
        _handshake(listener, "")
        return True
    return False


def _speaks_tls(address: str) -> bool:
    anybody = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    anybody.check_hostname, anybody.verify_mode = False, ssl.CERT_NONE
    try:
        _connected(address, anybody).close()
    except ssl.SSLError as error:
        return "ALERT" in (error.reason or "")
    except OSError:
        return False
    return True


def _alert(error: ssl.SSLError, context: ssl.SSLContext) -> str:
    reason = (error.reason or "").lower().replace("_", " ")
    return f"it ends the TLS handshake ({reason}): does it want a certificate (ssl.keystore)?"


# ---------------------------------------------------------------------- the wire


def _connected(address: str, context: ssl.SSLContext | None = None) -> socket.socket:
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    plain = socket.create_connection((host, int(port)), timeout=_SECONDS)
    if context is None:
        return plain
    try:
        return context.wrap_socket(plain, server_hostname=host.rstrip("."))
    except BaseException:
        plain.close()
        raise


def _asked(listener: socket.socket, kind: tuple[int, int], body: bytes) -> bytes:
    """The answer to a request, without its head."""
    request = struct.pack(">hhi", *kind, 0) + _string("partage") + body
    listener.sendall(struct.pack(">i", len(request)) + request)
    (size,) = struct.unpack(">i", _received(listener, 4))
    if not 4 <= size <= _MOST_BYTES:
        raise ValueError("that is no Kafka")
    return _received(listener, size)[4:]


def _received(listener: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count:
        part = listener.recv(count - len(found))
        if not part:
            raise ConnectionResetError
        found += part
    return found


def _string(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()
