"""Keys as Kafka's serializers write them, from text.

The names are those of the classes in ``org.apache.kafka.common.serialization`` without
*Serializer*: ``IntegerSerializer`` writes four bytes, big-endian, ``UUIDSerializer`` the text of
the UUID. ``hex`` and ``base64`` are bytes that have been serialized already.
"""

from __future__ import annotations

import base64
import math
import re
import struct
from collections.abc import Callable, Iterable

from partage.errors import InputError, shown

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_WHOLE = re.compile(r"[+-]?[0-9]{1,40}")
_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]{1,5})?", re.IGNORECASE)


def _string(text: str) -> bytes:
    return text.encode()


def _whole(bits: int) -> Callable[[str], bytes]:
    def write(text: str) -> bytes:
        number = int(text) if _WHOLE.fullmatch(text) else None
        if number is None or not -(1 << bits - 1) <= number < 1 << bits - 1:
            raise ValueError(f"expected a whole number from -2^{bits - 1} to 2^{bits - 1} - 1")
        return number.to_bytes(bits // 8, "big", signed=True)

    return write


def _decimal(layout: str) -> Callable[[str], bytes]:
    def write(text: str) -> bytes:
        try:
            if _DECIMAL.fullmatch(text) and math.isfinite(float(text)):
                return struct.pack(layout, float(text))
        except (OverflowError, ValueError):
            pass
        raise ValueError("expected a number within the type's range, such as 1.5 or -2e3")

    return write


def _boolean(text: str) -> bytes:
    if text not in ("true", "false"):
        raise ValueError("expected true or false")
    return b"\x01" if text == "true" else b"\x00"


def _uuid(text: str) -> bytes:
    if not _UUID.fullmatch(text):
        raise ValueError("expected a UUID, such as 0b7c4d5e-0000-4000-8000-000000000001")
    return text.lower().encode()


def _hex(text: str) -> bytes:
    if not re.fullmatch(r"([0-9A-Fa-f]{2})*", text):
        raise ValueError("expected pairs of hexadecimal digits")
    return bytes.fromhex(text)


def _base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        raise ValueError("expected Base64, with padding") from None


SERIALIZERS: dict[str, Callable[[str], bytes]] = {
    "string": _string,
    "integer": _whole(32),
    "long": _whole(64),
    "short": _whole(16),
    "float": _decimal(">f"),
    "double": _decimal(">d"),
    "boolean": _boolean,
    "uuid": _uuid,
    "hex": _hex,
    "base64": _base64,
}
"""Text to bytes; ValueError names what is accepted."""


def serialized_keys(keys: Iterable[tuple[str, str]], serializer: str) -> list[bytes]:
    """The bytes of each key, given as (place, text). Raises InputError for an unknown serializer,
    or with the place of a key that the serializer does not accept."""
    if serializer not in SERIALIZERS:
        expected = ", ".join(SERIALIZERS)
        raise InputError("serializer", f"{shown(serializer)}: expected one of {expected}")
    write = SERIALIZERS[serializer]
    found = []
    for place, text in keys:
        try:
            found.append(write(text))
        except UnicodeEncodeError:
            raise InputError(place, "is not UTF-8") from None
        except ValueError as error:
            raise InputError(place, f"{shown(text)}: {error}") from None
    return found
