"""SASL: ``sasl.mechanism`` and the login module of ``sasl.jaas.config`` for kafka-python.

PLAIN and SCRAM need a user and a password, OAUTHBEARER a token endpoint with a client's id and
secret (``oauth.py``), GSSAPI (Kerberos) a keytab or a ticket cache, and the Python package gssapi.
"""

from __future__ import annotations

import os
import re
import ssl
import sys
from collections.abc import Callable, Mapping
from typing import Any

from partage.errors import InputError, PartageError
from partage.live.admin.oauth import ClientCredentials, Endpoint
from partage.properties import Setting, Settings

_JAAS = re.compile(
    r"\s*[\w.$]+\.(?P<module>\w+)LoginModule\s+required\b(?P<options>.*?);?\s*", re.DOTALL
)
_OPTION = re.compile(r"""(\w+)\s*=\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s;"']+)""")

_TOKEN_URL = "sasl.oauthbearer.token.endpoint.url"
_CLIENT = "sasl.oauthbearer.client.credentials.client"
_HANDLER = "sasl.login.callback.handler.class"
_EXTENSION = "extension_"


def login_config(settings: Settings, where: str, tls: ssl.SSLContext | None) -> dict[str, Any]:
    """The settings of kafka-python for a login; ``tls``: how to reach a token endpoint by https.

    Raises InputError that names the setting, and PartageError if Kerberos refuses.
    """
    given = settings.get("sasl.mechanism")
    if given is None:
        raise InputError(
            where, f"sasl.mechanism is missing: expected one of {', '.join(MECHANISMS)}"
        )
    mechanism = given.one_of(MECHANISMS)
    return {"sasl_mechanism": mechanism, **MECHANISMS[mechanism](settings, where, tls)}


def _password(settings: Settings, where: str, _: object) -> dict[str, Any]:
    mechanism = settings["sasl.mechanism"].one_of(MECHANISMS)
    jaas = _required(settings, "sasl.jaas.config", where, "the user name and password")
    module, options = _module(jaas)
    if "username" not in options or "password" not in options:
        raise InputError(
            jaas.place,
            'expected a login module, "required", username="…" and password="…";',
        )
    _goes_with(jaas, module, "Plain" if mechanism == "PLAIN" else "Scram", mechanism)
    return {
        "sasl_plain_username": options["username"],
        "sasl_plain_password": options["password"],
    }


def _oauth(settings: Settings, where: str, tls: ssl.SSLContext | None) -> dict[str, Any]:
    url = _required(settings, _TOKEN_URL, where, "https://HOST/PATH")
    if not re.fullmatch(r"https?://[^\s/@]+(/\S*)?", url.value, re.IGNORECASE):
        raise InputError(url.place, "expected http:// or https://HOST/PATH without a login")
    handler = settings.get(_HANDLER)
    if handler is not None and not handler.value.endswith(".OAuthBearerLoginCallbackHandler"):
        raise InputError(handler.place, "expected Kafka's OAuthBearerLoginCallbackHandler")
    jaas = settings.get("sasl.jaas.config")
    options: Mapping[str, str] = {}
    if jaas is not None:
        module, options = _module(jaas)
        _goes_with(jaas, module, "OAuthBearer", "OAUTHBEARER")

    def value(name: str, option: str) -> str:
        setting = settings.get(name)
        return options.get(option, "") if setting is None else setting.value

    client, secret = value(f"{_CLIENT}.id", "clientId"), value(f"{_CLIENT}.secret", "clientSecret")
    if not client or not secret:
        raise InputError(
            where,
            f"{_CLIENT}.id or .secret is missing, also as clientId and clientSecret of "
            "sasl.jaas.config",
        )
    encode = settings.get("sasl.oauthbearer.header.urlencode")
    endpoint = Endpoint(
        url.place,
        url.value,
        client,
        secret,
        scope=value("sasl.oauthbearer.scope", "scope"),
        encode=encode is not None and encode.one_of(("TRUE", "FALSE")) == "TRUE",
        tls=tls,
    )
    extensions = {
        name.removeprefix(_EXTENSION): text
        for name, text in options.items()
        if name.startswith(_EXTENSION)
    }
    return {"sasl_oauth_token_provider": ClientCredentials(endpoint, extensions)}


def _kerberos(settings: Settings, where: str, _: object) -> dict[str, Any]:
    jaas = _required(settings, "sasl.jaas.config", where, "a Krb5LoginModule")
    module, options = _module(jaas)
    _goes_with(jaas, module, "Krb5", "GSSAPI")
    service = settings.get("sasl.kerberos.service.name")
    name = options.get("serviceName", "") if service is None else service.value
    if not name:
        raise InputError(where, "sasl.kerberos.service.name is missing: the brokers', often kafka")
    try:
        import gssapi
    except (ImportError, OSError):
        raise InputError(
            settings["sasl.mechanism"].place,
            "GSSAPI needs the Python package gssapi beside partage, and Kerberos' libraries",
        ) from None
    if "keyTab" in options:
        if "principal" not in options:
            raise InputError(jaas.place, 'expected principal="…" beside keyTab')
        # kafka-python takes the ticket from the default cache: a separate one for this process
        cache = os.environ["KRB5CCNAME"] = "MEMORY:partage"
        try:
            principal = gssapi.Name(options["principal"], gssapi.NameType.kerberos_principal)
            store = {"client_keytab": options["keyTab"], "ccache": cache}
            gssapi.Credentials(name=principal, usage="initiate", store=store)
        except kerberos_errors() as error:
            raise PartageError(f"{jaas.place}: {no_ticket(error)}") from None
    elif "ticketCache" in options:
        os.environ["KRB5CCNAME"] = options["ticketCache"]
    return {"sasl_kerberos_service_name": name}


MECHANISMS: dict[str, Callable[[Settings, str, ssl.SSLContext | None], dict[str, Any]]] = {
    "PLAIN": _password,
    "SCRAM-SHA-256": _password,
    "SCRAM-SHA-512": _password,
    "OAUTHBEARER": _oauth,
    "GSSAPI": _kerberos,
}
"""How to log in, by ``sasl.mechanism``."""


def kerberos_errors() -> tuple[type[Exception], ...]:
    """What the package gssapi raises; nothing where it is not in use."""
    gssapi = sys.modules.get("gssapi")
    return () if gssapi is None else (gssapi.exceptions.GSSError,)


def no_ticket(error: Exception) -> str:
    """One of ``kerberos_errors`` in one line."""
    return "no ticket from Kerberos: " + re.sub(r"\s+", " ", str(error))


def _required(settings: Settings, name: str, where: str, expected: str) -> Setting:
    if name not in settings:
        raise InputError(where, f"{name} is missing: expected {expected}")
    return settings[name]


def _module(jaas: Setting) -> tuple[str, dict[str, str]]:
    """The login module, such as ``Scram``, and its options; empty if they cannot be read."""
    match = _JAAS.fullmatch(jaas.value)
    if match is None:
        return "", {}
    found = dict(_OPTION.findall(match["options"]))
    return match["module"], {name: _unquoted(value) for name, value in found.items()}


def _goes_with(jaas: Setting, module: str, expected: str, mechanism: str) -> None:
    if module != expected:
        raise InputError(
            jaas.place, f"expected the {expected}LoginModule, which goes with {mechanism}"
        )


def _unquoted(value: str) -> str:
    if value[:1] in ("'", '"'):
        return re.sub(r"\\(.)", r"\1", value[1:-1])
    return value
