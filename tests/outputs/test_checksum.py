"""A file of partage's is recognised by its checksum, and no longer once anything in it changed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partage.files import parse_json
from partage.outputs.checksum import (
    CHECKSUM,
    Verdict,
    json_with_checksum,
    lines_with_checksum,
    markup_with_checksum,
    verdict_on,
    with_checksum,
)
from tests.profiles import examples

KINDS: list[Callable[[str], str]] = [
    lines_with_checksum,
    markup_with_checksum,
    lambda text: json_with_checksum({"text": text}),
    lambda text: json_with_checksum({"text": text}, indent=1),
]


def verdict(folder: Path, data: bytes) -> Verdict:
    (folder / "f").write_bytes(data)
    file = os.open(folder / "f", os.O_RDONLY)
    try:
        return verdict_on(file)
    finally:
        os.close(file)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", ["", "a\n", "é" * 300, CHECKSUM, with_checksum(CHECKSUM), "]]>"])
def test_a_text_with_a_checksum_is_ours(
    tmp_path: Path, kind: Callable[[str], str], text: str
) -> None:
    assert verdict(tmp_path, kind(text).encode()) == "ours"


def test_where_it_is() -> None:
    value = parse_json(json_with_checksum({"a": 1}), "x")
    assert list(value) == ["a", "checksum"]
    assert markup_with_checksum("<svg></svg>\n").startswith("<svg></svg>\n<!-- checksum: partage ")
    assert lines_with_checksum("a=1\n").startswith("a=1\n# checksum: partage sha256 ")


@pytest.mark.parametrize("text", ["", "x", "<svg></svg>", '{"version": 1}', "sha256 " + "0" * 64])
def test_anything_else_is_foreign(tmp_path: Path, text: str) -> None:
    assert verdict(tmp_path, text.encode()) == "foreign"


@given(place=st.integers(min_value=0), byte=st.integers(0, 255), kind=st.sampled_from(KINDS))
@examples(200)
def test_one_changed_byte_is_noticed(
    tmp_path_factory: pytest.TempPathFactory, place: int, byte: int, kind: Callable[[str], str]
) -> None:
    data = bytearray(kind("some text of a file, é\n").encode())
    place %= len(data)
    changed = data[place] != byte
    data[place] = byte
    found = verdict(tmp_path_factory.getbasetemp(), bytes(data))
    assert (found == "ours") is not changed


def test_a_longer_or_shorter_file_is_changed(tmp_path: Path) -> None:
    data = lines_with_checksum("a=1\n").encode()
    for other in (data + b"b=2\n", b"b=2\n" + data, data[2:]):
        assert verdict(tmp_path, other) == "changed"
    assert verdict(tmp_path, data + b"b=2\n" * 100) == "foreign"


def test_a_text_without_a_place_for_it_is_a_mistake_of_ours() -> None:
    for text in ("", "x", CHECKSUM + "x" * 200):
        with pytest.raises(AssertionError):
            with_checksum(text)
