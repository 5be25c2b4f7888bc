"""Settings of Kafka's Java clients (``partage.properties``) as those of kafka-python.

Security settings that kafka-python cannot honour are refused: a connection must not be less secure
than requested. Other settings that only Java clients have (such as ``metric.reporters``) are
ignored, as Kafka's own tools do.
"""

from __future__ import annotations

import re
from typing import Any

from partage.errors import InputError
from partage.live.admin.login import login_config
from partage.live.admin.tls import ssl_context
from partage.properties import KNOWN, Setting, Settings

_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")

_JAVA_ONLY = (
    *("ssl.protocol", "ssl.provider", "ssl.secure.random.implementation"),
    *("sasl.login.connect.timeout.ms", "sasl.login.read.timeout.ms"),
)
"""They select a Java library or how long it waits: ignoring them is not less secure."""

_JAVA_LOGINS = ("sasl.login.refresh.", "sasl.login.retry.", "sasl.kerberos.ticket.renew.")
"""When Java's client renews a login: not less secure either."""


def client_config(settings: Settings, where: str) -> dict[str, Any]:
    """The settings of kafka-python. Raises InputError that names the setting and its place."""
    config: dict[str, Any] = {}
    for name, setting in settings.items():
        guarded = name.startswith(("ssl.", "sasl.", "security."))
        ignored = name in _JAVA_ONLY or name.startswith(_JAVA_LOGINS)
        if guarded and name not in KNOWN and not ignored:
            raise InputError(setting.place, "partage does not support this security setting")
    if "client.id" in settings:
        config["client_id"] = settings["client.id"].value
    if "request.timeout.ms" in settings:
        config["request_timeout_ms"] = _positive(settings["request.timeout.ms"])
    given = settings.get("security.protocol")
    protocol = "PLAINTEXT" if given is None else given.one_of(_PROTOCOLS)
    config["security_protocol"] = protocol
    tls = ssl_context(settings, where) if protocol.endswith("SSL") else None
    if tls is not None:
        config["ssl_context"] = tls
    if protocol.startswith("SASL"):
        config |= login_config(settings, where, tls)
    return config


def _positive(setting: Setting) -> int:
    if not re.fullmatch(r"[1-9]\d{0,8}", setting.value.strip(), re.ASCII):
        raise InputError(setting.place, "expected a number of milliseconds")
    return int(setting.value)
