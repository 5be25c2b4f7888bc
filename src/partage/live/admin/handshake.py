"""Whether a listener accepts a client with these security settings, checked before kafka-python
connects.

kafka-python retries whatever is wrong, a certificate or password included, and reports only a
timeout in the end. This check makes one connection with the TLS settings and sends one request that
every Kafka listener answers: ``SaslHandshake`` (KIP-43). A listener with SASL returns its
mechanisms, one without returns ``ILLEGAL_SASL_STATE``. Then the check logs in.

It reports only what is certain. A broker that does not answer, or closes the connection without a
reason, may be starting: kafka-python retries then.
"""

from __future__ import annotations

import socket
import ssl
import struct
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from kafka.errors import KafkaError
from kafka.net.sasl import get_sasl_mechanism

from partage.errors import PartageError
from partage.live.admin.login import kerberos_errors, no_ticket

_SECONDS = 5.0
_NO_HOST = "no such host"

_SASL_HANDSHAKE = (17, 1)
_SASL_AUTHENTICATE = (36, 0)
"""Key and version of the requests; neither has flexible fields."""

_REFUSED = defaultdict(
    lambda: "check user name and password",
    OAUTHBEARER="the broker does not accept the token",
    GSSAPI="the broker does not accept the ticket",
)
"""What may be wrong, by mechanism."""

_UNSUPPORTED_MECHANISM = 33
_ILLEGAL_STATE = 34
_MOST_BYTES = 1 << 20


class _RefusalError(Exception):
    """A certain problem; the text follows "Kafka at HOST:PORT: "."""


def check_listener(servers: str, config: Mapping[str, Any]) -> dict[str, str]:
    """Check the first broker that answers; ``config``: kafka-python's settings. Returns the servers
    before it, and why they do not answer.

    Raises PartageError for a problem with the certificate, the protocol or the login, and where the
    name of no server exists.
    """
    silent: dict[str, str] = {}
    for server in servers.split(","):
        address = server.strip().rpartition("://")[2]
        try:
            _check_address(address, config)
            return silent
        except _RefusalError as refusal:
            raise PartageError(f"Kafka at {address}: {refusal}") from None
        except (OSError, ValueError, struct.error) as error:
            silent[address] = _why_silent(error)
    if set(silent.values()) == {_NO_HOST}:
        raise unreachable(silent)
    return silent


def unreachable(silent: Mapping[str, str]) -> PartageError:
    """The error that names the servers, and why they do not answer."""
    each = ", ".join(f"{address} ({why})" for address, why in silent.items())
    return PartageError(f"no broker reachable at {each}")


def _why_silent(error: Exception) -> str:
    if isinstance(error, socket.gaierror) and error.errno in (socket.EAI_NONAME, socket.EAI_NODATA):
        return _NO_HOST
    if isinstance(error, TimeoutError):
        return f"no answer within {_SECONDS:g} s"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return "closes the connection" if isinstance(error, OSError) else "not a Kafka listener"


def _check_address(address: str, config: Mapping[str, Any]) -> None:
    protocol = str(config["security_protocol"])
    try:
        with _connect(address, config.get("ssl_context")) as listener:
            _log_in(listener, protocol, {"host": address.rpartition(":")[0], **config})
    except ssl.SSLCertVerificationError as error:
        reason = error.verify_message.rstrip(".")
        raise _RefusalError(f"its certificate is not accepted: {reason}") from None
    except (OSError, ValueError, struct.error) as error:
        # perhaps one side uses TLS and the other does not
        if protocol.endswith("SSL"):
            if _uses_plaintext(address):
                raise _RefusalError(
                    f"the listener does not use TLS, but security.protocol is {protocol}"
                ) from None
            if isinstance(error, ssl.SSLError) and "ALERT" in (error.reason or ""):
                raise _RefusalError(_alert(error, config["ssl_context"])) from None
        elif _uses_tls(address):
            raise _RefusalError(
                f"the listener uses TLS, but security.protocol is {protocol}"
            ) from None
        raise


def _log_in(listener: socket.socket, protocol: str, config: Mapping[str, Any]) -> None:
    mechanism = config.get("sasl_mechanism") or ""
    code, offered = _handshake(listener, mechanism)
    if not protocol.startswith("SASL"):
        if code != _ILLEGAL_STATE:
            raise _RefusalError(f"the listener requires SASL, but security.protocol is {protocol}")
        return
    if code == _ILLEGAL_STATE:
        raise _RefusalError(f"the listener does not use SASL, but security.protocol is {protocol}")
    if code == _UNSUPPORTED_MECHANISM or mechanism not in offered:
        raise _RefusalError(f"sasl.mechanism {mechanism} is not offered, only {', '.join(offered)}")
    try:
        steps = get_sasl_mechanism(mechanism)(**config)
        while not steps.is_done():
            token = steps.auth_bytes()
            answer = _response(listener, _SASL_AUTHENTICATE, struct.pack(">i", len(token)) + token)
            (code,) = struct.unpack_from(">h", answer)
            if code:
                raise _RefusalError(f"the login is refused: {_REFUSED[mechanism]}")
            (length,) = struct.unpack_from(">h", answer, 2)
            steps.receive(answer[4 + max(length, 0) + 4 :])
    except KafkaError as error:
        raise _RefusalError(
            f"the broker does not prove that it knows the password: {error}"
        ) from None
    except kerberos_errors() as error:
        raise _RefusalError(no_ticket(error)) from None


def _handshake(listener: socket.socket, mechanism: str) -> tuple[int, list[str]]:
    """The error code, and the SASL mechanisms that the listener offers."""
    answer = _response(listener, _SASL_HANDSHAKE, _string(mechanism))
    code, count = struct.unpack_from(">hi", answer)
    place, offered = 6, []
    for _ in range(count):
        (length,) = struct.unpack_from(">h", answer, place)
        offered.append(answer[place + 2 : place + 2 + length].decode())
        place += 2 + length
    return code, offered


# ---------------------------------------------------------------------- which protocol


def _uses_plaintext(address: str) -> bool:
    with suppress(OSError, ValueError, struct.error), _connect(address) as listener:
        _handshake(listener, "")
        return True
    return False


def _uses_tls(address: str) -> bool:
    unverified = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    unverified.check_hostname, unverified.verify_mode = False, ssl.CERT_NONE
    try:
        _connect(address, unverified).close()
    except ssl.SSLError as error:
        return "ALERT" in (error.reason or "")
    except OSError:
        return False
    return True


def _alert(error: ssl.SSLError, context: ssl.SSLContext) -> str:
    reason = (error.reason or "").lower().replace("_", " ")
    return (
        f"it ended the TLS handshake ({reason}): "
        "a client certificate (ssl.keystore) may be required"
    )


# ---------------------------------------------------------------------- the wire


def _connect(address: str, context: ssl.SSLContext | None = None) -> socket.socket:
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


def _response(listener: socket.socket, kind: tuple[int, int], body: bytes) -> bytes:
    """The response to a request, without its header."""
    request = struct.pack(">hhi", *kind, 0) + _string("partage") + body
    listener.sendall(struct.pack(">i", len(request)) + request)
    (size,) = struct.unpack(">i", _receive(listener, 4))
    if not 4 <= size <= _MOST_BYTES:
        raise ValueError("not a Kafka listener")
    return _receive(listener, size)[4:]


def _receive(listener: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count:
        part = listener.recv(count - len(found))
        if not part:
            raise ConnectionResetError
        found += part
    return found


def _string(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()
