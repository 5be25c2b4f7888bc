"""The way to a running cluster: where it is, and what proves who asks.

An address comes from ``--bootstrap-server``, the client's settings (``properties.py``) or
``PARTAGE_BOOTSTRAP_SERVERS``, in this order. Whatever the client raises becomes one line.
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
from partage.live.admin.properties import client_config
from partage.properties import read_settings

T = TypeVar("T")

_BOOTSTRAP_MS = 15_000
_ADDRESS = re.compile(r"(?:\w+://)?(?:[^\s:\[\]]+|\[[0-9a-fA-F:]+\]):\d{1,5}")


class Admin(permissions.Named):
    """kafka-python's admin client, where the original goes wrong.

    It says when configuration may not be read; the original gives an empty one then, and what was
    set would be lost when it is put back. And it asks anew whom it shall send what is the
    controller's business; the original goes on to ask the one it knew, after that broker's death.
    And brokers that a description of the cluster tells of can be asked at once; the original does
    not know those that are new, or back, for up to five minutes.
    """

    def describe_cluster(self) -> dict[str, Any]:
        described: dict[str, Any] = super().describe_cluster()
        known = {broker.node_id for broker in self._manager.cluster.brokers()}
        if alive_brokers(described) - known:
            self._manager.run(self._manager.cluster.refresh_metadata)
        return described

    async def _send_request_to_controller(self, *args: Any, **kwargs: Any) -> Any:
        self._controller_id = None
        return await super()._send_request_to_controller(*args, **kwargs)

    @classmethod
    def _describe_configs_process_responses(cls, responses: Any, config_filter: Any) -> Any:
        responses = list(responses)
        for response in responses:
            for result in response.results:
                if result.error_code:
                    raise kafka_errors.for_code(result.error_code)(result.error_message)
        return super()._describe_configs_process_responses(responses, config_filter)


@dataclass(frozen=True)
class Connection:
    """``servers``: HOST:PORT,…; ``config``: kafka-python's settings, secrets among them, which is
    why they are not shown."""

    servers: str
    config: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls,
        bootstrap_server: str | None = None,
        command_config: str | os.PathLike[str] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> Self:
        """Out of options, a properties file and the environment. Raises InputError."""
        settings = read_settings(command_config, environment)
        where = "the environment" if command_config is None else os.fspath(command_config)
        servers = bootstrap_server or settings.get("bootstrap.servers")
        if not servers:
            raise InputError(
                "--bootstrap-server", "expected HOST:PORT, here or in PARTAGE_BOOTSTRAP_SERVERS"
            )
        for address in servers.split(","):
            if not _ADDRESS.fullmatch(address.strip()):
                raise InputError("--bootstrap-server", f"{address!r}: expected HOST:PORT")
        return cls(servers, client_config(settings, where))

    @contextmanager
    def admin(self, **defaults: Any) -> Iterator[KafkaAdminClient]:
        """An admin client, closed on the way out; Kafka's errors inside become one line.
        ``defaults``: kafka-python's settings, where the user's own say nothing."""
        # It logs every broker that is down and every step of a login; what matters is raised.
        logging.getLogger("kafka").setLevel(logging.CRITICAL + 1)
        handshake.check(self.servers, self.config)
        with kafka_said(self.servers):
            client = Admin(
                **{
                    "bootstrap_servers": self.servers.split(","),
                    "bootstrap_timeout_ms": _BOOTSTRAP_MS,
                    "client_id": "partage",
                    **defaults,
                    **self.config,
                }
            )
            try:
                yield client
            finally:
                client.close()


@contextmanager
def kafka_said(servers: str) -> Iterator[None]:
    """Whatever kafka-python raises inside, as a PartageError of one line."""
    try:
        yield
    except kafka_errors.KafkaError as error:
        raise PartageError(f"Kafka at {servers}: {told(error)}") from None
    except OSError as error:
        raise PartageError(f"Kafka at {servers}: {error.strerror or error}") from None


def alive_brokers(described: Mapping[str, Any]) -> set[int]:
    """Who answers to the controller, by a description of the cluster: all that are not fenced."""
    return {one["broker_id"] for one in described["brokers"] if not one.get("is_fenced", False)}


def chunks(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Some at a time, for requests that name many things."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


def of_those_that_answer(
    ask: Callable[[Sequence[str]], Mapping[str, T]],
    names: Sequence[str],
    refusals: tuple[type[Exception], ...],
    refused: Callable[[str, Exception], None] = lambda _name, _error: None,
) -> dict[str, T]:
    """The answers by name; where a refusal of one refuses all, each is asked for itself, and those
    that are refused are left out."""
    try:
        return dict(ask(names))
    except refusals as error:
        if len(names) == 1:
            refused(names[0], error)
            return {}
    return {
        key: answer
        for name in names
        for key, answer in of_those_that_answer(ask, [name], refusals, refused).items()
    }


def told(error: BaseException | type[BaseException]) -> str:
    """An error of kafka-python in plain words."""
    kind = error if isinstance(error, type) else type(error)
    text = "" if isinstance(error, type) else str(error.args[0] if error.args else "")
    if issubclass(kind, kafka_errors.AuthorizationError):
        on = kind.__name__.removesuffix("AuthorizationFailedError").lower()
        operation = text if text.isalpha() else "an operation"
        return f"not allowed: missing ACL: {operation} on the {on}"
    for family, words in _WORDS:
        if issubclass(kind, family):
            return words
    name = kind.__name__.removesuffix("Error")
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()
    text = " ".join(text.split())
    return f"{spaced} ({text})"[:300] if text else spaced


_WORDS: tuple[tuple[type[BaseException], str], ...] = (
    (kafka_errors.KafkaTimeoutError, "nobody answers there in time"),
)
