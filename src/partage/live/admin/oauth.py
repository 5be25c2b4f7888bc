"""OAUTHBEARER (KIP-768): a token from an identity provider, for a client's id and secret.

The provider's token endpoint is asked for a token as OAuth 2.0 describes (RFC 6749, section 4.4:
client credentials), when the first connection logs in and again after four fifths of its lifetime.
"""

from __future__ import annotations

import json
import ssl
import time
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.client import HTTPException
from threading import Lock
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote, urlencode
from urllib.request import HTTPRedirectHandler, HTTPSHandler, Request, build_opener

from kafka.net.sasl.oauth import AbstractTokenProvider

from partage.errors import PartageError
from partage.redaction import hide

_SECONDS = 10.0
_MAX_BYTES = 1 << 20
_LIFETIME_SHARE = 0.8
_SHORTEST_SECONDS = 60.0
"""The lifetime of a token whose endpoint does not state it."""


@dataclass(frozen=True)
class Endpoint:
    """A token endpoint. ``place``: the setting that names it, for messages. ``tls``: None for the
    certificates that the system trusts."""

    place: str
    url: str
    client_id: str
    client_secret: str = field(repr=False)
    scope: str = ""
    encode: bool = False
    tls: ssl.SSLContext | None = None

    def request(self) -> tuple[str, float]:
        """A new token, and its lifetime in seconds. Raises PartageError."""
        login = (self.client_id, self.client_secret)
        if self.encode:
            login = (quote(login[0], safe=""), quote(login[1], safe=""))
        body = {"grant_type": "client_credentials"} | ({"scope": self.scope} if self.scope else {})
        request = Request(
            self.url,
            urlencode(body).encode(),
            {
                "Authorization": f"Basic {b64encode(':'.join(login).encode()).decode()}",
                "Content-Type": "application/x-www-form-urlencoded",
                "Accept": "application/json",
            },
        )
        opener = build_opener(_NoRedirect, HTTPSHandler(context=self.tls))
        try:
            with opener.open(request, timeout=_SECONDS) as answer:
                content = answer.read(_MAX_BYTES)
        except HTTPError as error:
            advice = ": check the client's id and secret" if error.code in (400, 401, 403) else ""
            raise self._error(f"answers {error.code} {error.reason}{advice}") from None
        except (OSError, HTTPException, ValueError) as error:
            reason = getattr(error, "reason", None) or error
            raise self._error(f"cannot be reached: {reason}") from None
        return self._token(content)

    def _token(self, content: bytes) -> tuple[str, float]:
        try:
            found: Any = json.loads(content)
            token, lifetime = found["access_token"], found.get("expires_in", _SHORTEST_SECONDS)
            if not isinstance(token, str) or not token.isascii() or not token.isprintable():
                raise ValueError
            seconds = float(lifetime)
        except (ValueError, LookupError, TypeError, AttributeError):
            raise self._error("does not answer with an access_token in JSON") from None
        hide(token)
        return token, seconds

    def _error(self, problem: str) -> PartageError:
        return PartageError(f"{self.place}: the token endpoint {problem}")


class ClientCredentials(AbstractTokenProvider):  # type: ignore[misc]
    """Gives kafka-python the token of an endpoint; all connections share it."""

    def __init__(
        self,
        endpoint: Endpoint,
        extensions: Mapping[str, str],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._endpoint, self._extensions, self._clock = endpoint, dict(extensions), clock
        self._lock = Lock()
        self._token, self._renew_at = "", clock()

    def token(self) -> str:
        """The current token. Raises PartageError."""
        with self._lock:
            if not self._token or self._clock() >= self._renew_at:
                self._token, lifetime = self._endpoint.request()
                self._renew_at = self._clock() + _LIFETIME_SHARE * lifetime
            return self._token

    def extensions(self) -> dict[str, str]:
        """The SASL extensions (KIP-342)."""
        return self._extensions


class _NoRedirect(HTTPRedirectHandler):
    """A secret goes to no other address than the given one."""

    def redirect_request(self, *_: Any) -> None:
        return None
