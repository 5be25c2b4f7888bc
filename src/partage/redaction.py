"""Secrets are shown nowhere, also where a message of a library or of Java quotes them.

partage's own messages never contain the value of a client's setting (``partage.properties``). This
is the second line of defence: code that reads a secret passes it to ``hide``, and every error, log
line and suggested command goes through ``redacted``. In addition, ``redacted`` removes what is a
secret by its place: user and password before a host, parameters such as ``token=…``, and what is
inside PEM.
"""

from __future__ import annotations

import json
import re
from urllib.parse import quote

HIDDEN = "***"

_SHORTEST = 4
"""Shorter values would be found in half of all words."""

_hidden: set[str] = set()

# What a secret's place contains, the place, and what is shown instead. Patterns are compiled when a
# text has that part; every repeat has a limit: otherwise the time is quadratic in its length.
_PLACES = (
    (
        "-----BEGIN ",
        r"(?s)(-----BEGIN [A-Z0-9 ]+-----).*?(?:-----END [A-Z0-9 ]*-*|\Z)",
        rf"\1{HIDDEN}",
    ),
    (
        "@",
        # a lone name before the host of Azure's storage is a container
        r"(?<=://)(?:(?<!abfs://)(?<!abfss://)(?<!wasb://)(?<!wasbs://)|[^\s'\":/@]{0,99}:)"
        r"[^\s'\"]{0,999}@"
        r"|(?<![^\s'\"=(,])[^\s'\":/@=]{1,99}:(?!//)[^\s'\"]{1,999}@(?=\S)",
        f"{HIDDEN}@",
    ),
    ("sig=", r"(?<=[?&]sig=)[^\s;&,'\"]+", HIDDEN),
    (
        "=",
        r"(?is)(?P<name>\b[\w.-]{0,99}"
        r"(?:token|username|passw(?:or)?d|secret|signature|credential"
        r"|access.?key|account.?key|api.?key|encryption.?key|private.?key)[\w.-]{0,99}=)"
        r"(?!\"…\")(?P<value>\"(?:\\.|[^\"\\])*(?:\"|\Z)|'(?:\\.|[^'\\])*(?:'|\Z)|[^\s;&,'\"]+)",
        rf"\g<name>{HIDDEN}",
    ),
)


def hide(value: str) -> None:
    """Never show this text again, in any of the forms in which messages quote it. Of a text of
    several lines (PEM), each line is hidden."""
    for line in value.splitlines():
        text = line.strip()
        if len(text) >= _SHORTEST:
            inside = json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]
            # a file of properties can hold half of a surrogate pair, as an escape sequence
            in_url = (quote(text, safe, errors="surrogatepass") for safe in ("/", ""))
            _hidden.update((text, *inside, repr(text)[1:-1], *in_url))


def redacted(text: str) -> str:
    """The text without secrets."""
    for value in sorted(_hidden, key=len, reverse=True):  # one may contain another
        text = text.replace(value, HIDDEN)
    for part, place, instead in _PLACES:
        if part in text:
            text = re.sub(place, instead, text)
    return text


def split_login(url: str) -> tuple[str, str]:
    """A URL without user and password, and these, which are hidden from now on."""
    scheme, colon, rest = url.partition("://")
    authority = re.split("[/?#]", rest, maxsplit=1)[0]
    login, at, _ = authority.rpartition("@")
    for secret in (login, *login.partition(":")[::2]):
        hide(secret)
    return scheme + colon + rest[len(login + at) :], login


def without_login(url: str) -> str:
    """A URL without user and password, whatever characters these have."""
    scheme, colon, rest = url.partition("://")
    return f"{scheme}{colon}{HIDDEN}@{rest.rpartition('@')[2]}" if "@" in rest else url
