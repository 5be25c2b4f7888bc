"""Keys from text: the bytes that Kafka's own serializers write."""

from __future__ import annotations

import base64
import re
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka.serialization import DoubleSerializer, IntegerSerializer, StringSerializer
from hypothesis import given
from hypothesis import strategies as st

from partage.errors import InputError
from partage.producers.serializers import SERIALIZERS, serialized_keys


def one(text: str, serializer: str) -> bytes:
    (found,) = serialized_keys([("key 1", text)], serializer)
    return found


@given(st.text(st.characters(codec="utf-8")))
def test_strings(text: str) -> None:
    assert one(text, "string") == (StringSerializer("utf_8")(text) or b"")


@given(st.integers(-(2**31), 2**31 - 1))
def test_integers(number: int) -> None:
    assert one(str(number), "integer") == IntegerSerializer()(number)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_doubles(number: float) -> None:
    assert one(repr(number), "double") == DoubleSerializer()(number)


@given(st.binary())
def test_bytes(content: bytes) -> None:
    assert one(content.hex(), "hex") == content
    assert one(base64.b64encode(content).decode(), "base64") == content


@pytest.mark.parametrize(
    ("serializer", "text", "expected"),
    [
        ("long", "1", "0000000000000001"),
        ("long", "-9223372036854775808", "8000000000000000"),
        ("short", "+32767", "7fff"),
        ("short", "-2", "fffe"),
        ("float", "-1.5", "bfc00000"),
        ("float", "2e3", "44fa0000"),
        ("boolean", "true", "01"),
        ("boolean", "false", "00"),
        ("uuid", str(uuid.UUID(int=10)).upper(), str(uuid.UUID(int=10)).encode().hex()),
        ("string", "", ""),
    ],
)
def test_by_hand(serializer: str, text: str, expected: str) -> None:
    assert one(text, serializer).hex() == expected


@pytest.mark.parametrize(
    ("serializer", "text", "expected"),
    [
        ("integer", "2147483648", "a whole number from -2^31 to 2^31 - 1"),
        ("integer", "1_0", "a whole number"),
        ("long", "९", "a whole number"),
        ("long", "9" * 5000, "a whole number"),
        ("short", "32768", "-2^15"),
        ("float", "1e39", "a number within the type's range"),
        ("float", "1e400", "a number within the type's range"),
        ("double", "-1e309", "a number within the type's range"),
        ("double", "nan", "a number"),
        ("double", "", "a number"),
        ("boolean", "True", "true or false"),
        ("uuid", "{0b7c4d5e-0000-4000-8000-000000000001}", "a UUID"),
        ("hex", "abc", "pairs of hexadecimal digits"),
        ("base64", "a", "Base64"),
        ("base64", "é", "Base64"),
    ],
)
def test_text_that_is_refused(serializer: str, text: str, expected: str) -> None:
    with pytest.raises(InputError, match=rf"^key 1: .*: expected .*{re.escape(expected)}"):
        one(text, serializer)


def test_text_that_is_not_utf8() -> None:
    with pytest.raises(InputError, match=r"^key 1: is not UTF-8$"):
        one("\udc80", "string")


def test_an_unknown_serializer() -> None:
    with pytest.raises(InputError, match=r"^serializer: avro: expected one of string, integer"):
        serialized_keys([], "avro")


@pytest.fixture(scope="module")
def java() -> Iterator[Any]:
    pytest.importorskip("py4j")
    from partage.live.sandbox.jars import kafka_jars
    from tests.live.kafka_in_java import java_with

    with java_with(kafka_jars()) as gateway:
        yield gateway.jvm


@pytest.mark.long
@pytest.mark.kafka
def test_javas_serializers(java: Any) -> None:
    package = java.org.apache.kafka.common.serialization
    values = {
        "String": "Ünï 🎉",
        "Integer": -(2**31),
        "Long": -(2**40),
        "Short": -300,
        "Float": -1.5,
        "Double": -2.5e-300,
        "Boolean": True,
        "UUID": java.java.util.UUID.fromString("0b7c4d5e-0000-4000-8000-00000000000f"),
    }
    assert {name.lower() for name in values} == SERIALIZERS.keys() - {"hex", "base64"}
    for name, value in values.items():
        theirs = bytes(getattr(package, f"{name}Serializer")().serialize("t", value))
        text = value.toString() if name == "UUID" else str(value)
        assert one(text.lower() if name == "Boolean" else text, name.lower()) == theirs
