"""Connections to a running cluster: address, security settings, and errors in one line.

The address comes from ``--bootstrap-server``, the client's settings (``client_config.py``) or
``PARTAGE_BOOTSTRAP_SERVERS``, in this order.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar

from kafka import KafkaAdminClient
from kafka import errors as kafka_errors

from partage.errors import InputError, PartageError
from partage.live.admin import handshake, permissions
from partage.live.admin.client_config import client_config
from partage.live.compat_kafka_python import learn_brokers
from partage.outputs import is_of_the_disk
from partage.properties import addresses, read_settings
from partage.redaction import redacted

T = TypeVar("T")

_BOOTSTRAP_MS = 15_000


class Admin(permissions.NamingAdminClient):
    """An admin client that can send requests to every broker that it describes."""

    def describe_cluster(self) -> dict[str, Any]:
        described: dict[str, Any] = super().describe_cluster()
        learn_brokers(self, alive_brokers(described))
        return described


@dataclass(frozen=True)
class Connection:
    """``servers``: HOST:PORT,…; ``config``: kafka-python's settings, which include secrets and are
    therefore not in the repr."""

    servers: str
    config: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls,
        bootstrap_server: str | None = None,
        command_config: str | os.PathLike[str] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> Self:
        """From options, a properties file and the environment. Raises InputError."""
        settings = read_settings(command_config, environment)
        where = "the environment" if command_config is None else os.fspath(command_config)
        given = settings.get("bootstrap.servers")
        if not bootstrap_server and given is None:
            raise InputError(
                "bootstrap_server", "expected HOST:PORT, here or in PARTAGE_BOOTSTRAP_SERVERS"
            )
        if bootstrap_server and not isinstance(bootstrap_server, str):
            kind = type(bootstrap_server).__name__
            problem = f"expected HOST:PORT, or several separated by commas, got {kind}"
            raise InputError("bootstrap_server", problem)
        place = "bootstrap_server" if bootstrap_server or given is None else given.place
        try:
            servers = addresses(bootstrap_server or (given.value if given is not None else ""))
        except ValueError as error:
            raise InputError(place, str(error)) from None
        return cls(",".join(servers), client_config(settings, where))

    @contextmanager
    def admin(self, **defaults: Any) -> Iterator[KafkaAdminClient]:
        """An admin client, closed at the end; Kafka's errors become a PartageError of one line.
        ``defaults``: kafka-python's settings, which the user's own override."""
        # kafka-python logs every broker that is down and every step of a login; it raises the rest
        logging.getLogger("kafka").setLevel(logging.CRITICAL + 1)
        silent = handshake.check_listener(self.servers, self.config)
        with one_line_errors(self.servers):
            try:
                client = Admin(
                    **{
                        "bootstrap_servers": self.servers.split(","),
                        "bootstrap_timeout_ms": _BOOTSTRAP_MS,
                        "client_id": "partage",
                        **defaults,
                        **self.config,
                    }
                )
            except kafka_errors.KafkaTimeoutError:
                if not silent:
                    raise
                raise handshake.unreachable(silent) from None
            try:
                yield client
            finally:
                client.close()


@contextmanager
def one_line_errors(servers: str) -> Iterator[None]:
    """Turn what kafka-python raises into a PartageError of one line."""
    try:
        yield
    except kafka_errors.KafkaError as error:
        raise PartageError(f"Kafka at {servers}: {describe_error(error)}") from None
    except OSError as error:
        if error.filename is not None or is_of_the_disk(error):
            raise  # of a file, or of the output
        raise PartageError(f"Kafka at {servers}: {error.strerror or error}") from None


def alive_brokers(described: Mapping[str, Any]) -> set[int]:
    """Ids of the brokers in a description of the cluster that are not fenced."""
    return {one["broker_id"] for one in described["brokers"] if not one.get("is_fenced", False)}


def chunks(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """At most ``size`` items at a time, for requests that name many."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


def ask_together_or_singly(
    ask: Callable[[Sequence[str]], Mapping[str, T]],
    names: Sequence[str],
    refusals: tuple[type[Exception], ...],
    refused: Callable[[str, Exception], None] = lambda _name, _error: None,
) -> dict[str, T]:
    """The answers by name, from one request for all names; where one name makes Kafka refuse it,
    from one request for each. Refused names are left out and passed to ``refused``."""
    try:
        return dict(ask(names))
    except refusals as error:
        if len(names) == 1:
            refused(names[0], error)
            return {}
    return {
        key: answer
        for name in names
        for key, answer in ask_together_or_singly(ask, [name], refusals, refused).items()
    }


def describe_error(error: BaseException | type[BaseException]) -> str:
    """An error of kafka-python as text, without secrets."""
    kind = error if isinstance(error, type) else type(error)
    text = "" if isinstance(error, type) else str(error.args[0] if error.args else "")
    if issubclass(kind, kafka_errors.AuthorizationError):
        resource = kind.__name__.removesuffix("AuthorizationFailedError").lower()
        operation = text if text.isalpha() else "an operation"
        return f"not allowed: missing ACL: {operation} on the {resource}"
    for family, words in _WORDS:
        if issubclass(kind, family):
            return words
    name = kind.__name__.removesuffix("Error")
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()
    text = " ".join(text.split())
    return redacted(f"{spaced} ({text})")[:300] if text else spaced


_WORDS: tuple[tuple[type[BaseException], str], ...] = (
    (kafka_errors.KafkaTimeoutError, "no broker reachable in time"),
)
