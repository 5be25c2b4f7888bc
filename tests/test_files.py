"""Files are read with one clear line when bad."""

from __future__ import annotations

import gc
import gzip
import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partage import InputError, files
from partage.files import parse_json, read_text, to_json
from tests.profiles import examples

# ---------------------------------------------------------------- reading


def test_read_text(tmp_path: Path) -> None:
    path = tmp_path / "a"
    for content, text in (
        (b"", ""),
        ("é\r\n".encode(), "é\r\n"),
        (b"\xef\xbb\xbfx", "x"),
        (gzip.compress("é".encode()), "é"),
        (gzip.compress(b"a") + gzip.compress(b"b"), "ab"),
    ):
        path.write_bytes(content)
        assert read_text(path) == read_text(os.fspath(path)) == text


def test_a_file_that_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_BYTES", 1000)
    path = tmp_path / "a"
    for content in (b"x" * 1000, gzip.compress(b"x" * 1000)):
        path.write_bytes(content)
        assert read_text(path) == "x" * 1000
    path.write_bytes(b"x" * 1001)
    with pytest.raises(InputError, match=r"a: has more than 1,000 bytes"):
        read_text(path)
    path.write_bytes(gzip.compress(b"x" * 1001))
    with pytest.raises(InputError, match=r"a: unpacks to more than 1,000 bytes"):
        read_text(path)


@pytest.mark.long
def test_a_small_file_that_unpacks_to_six_gigabytes(tmp_path: Path) -> None:
    """It is refused before it takes the memory."""
    with gzip.open(tmp_path / "a.gz", "wb", compresslevel=1) as packed:
        for _ in range(600):
            packed.write(bytes(10**7))
    code = f"""
import resource
resource.setrlimit(resource.RLIMIT_AS, (4 * 10**9, 4 * 10**9))
from partage.files import read_text
read_text({str(tmp_path / "a.gz")!r})
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "InputError" in ended.stderr.splitlines()[-1]
    assert ended.stderr.endswith("unpacks to more than 1,000,000,000 bytes\n")


def test_a_name_that_ends_in_gz_must_be_gzip(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(b"plain")
    with pytest.raises(InputError, match=r"a\.gz: broken gzip"):
        read_text(tmp_path / "a.gz")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x")
    (tmp_path / "a").chmod(0)
    with pytest.raises(InputError, match="Permission denied"):
        read_text(tmp_path / "a")


# ---------------------------------------------------------------- JSON


def test_parse_json() -> None:
    assert parse_json(' {"a": [1, 2.5, null, true, "\\u00e9"]} ', "x") == {
        "a": [1, 2.5, None, True, "é"]
    }
    # a whole pair is a character, and behind two backslashes nothing is escaped
    assert parse_json('["\\ud83d\\uDE00", "\\\\ud800"]', "x") == ["\U0001f600", "\\ud800"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "x: line 1 column 1: not valid JSON (Expecting value)"),
        ("{\n,", "x: line 2 column 1: not valid JSON"),
        ("[1 2]", "x: line 1 column 4: not valid JSON"),
        ("NaN", "x: NaN is not a JSON number"),
        ("[Infinity]", "x: Infinity is not a JSON number"),
        ("[-Infinity]", "x: -Infinity is not a JSON number"),
        ("[" * 100_000, "x: not valid JSON (nested too deep"),
        ("9" * 5000, "x: not valid JSON (nested too deep, or a number too long)"),
        ('"\n"', "x: line 1 column 2: not valid JSON"),
        ('["a", "\\ud800"]', "x: \\ud800 is half of a surrogate pair, not a character"),
        ('{"\\uDFFF": 1}', "x: \\udfff is half of a surrogate pair, not a character"),
        ('"\\udc00\\ud800"', "x: \\udc00 is half of a surrogate pair, not a character"),
    ],
    ids=lambda text: text[:12],
)
def test_parse_json_of_what_is_refused(text: str, line: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_json(text, "x")
    assert str(caught.value).startswith(line)
    assert "\n" not in str(caught.value)


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    # every form of a number that a text may have, and every character
    | st.sampled_from((0, -0.0, 1e16, 1e-7, 10**30, -(2**63), 2**64))
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@examples(300)
@given(JSON_VALUES)
def test_both_parsers_of_json_read_the_same(value: Any) -> None:
    """The faster one reads long compact texts."""
    padded = ["a" * 20, value]
    for text in (
        json.dumps(padded),
        json.dumps(padded, separators=(",", ":"), ensure_ascii=False) + "\n",
        msgspec.json.encode(padded).decode(),
    ):
        assert repr(parse_json(text, "x")) == repr(padded)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('"b":1,"b":1', "x: key b is given twice in {'a': 'aaaaaaaaaaaaaaaaaaaa', 'b': 1}"),
        ('"b":NaN', "x: NaN is not a JSON number"),
        ('"b":"\\ud800"', "x: \\ud800 is half of a surrogate pair, not a character"),
        ('"b":[1,]', "x: line 1 column 3"),
        ('"b":01', "x: line 1 column 34: not valid JSON"),
        ('"b":' + "[" * 100_000, "x: not valid JSON (nested too deep"),
        ('"b":' + "9" * 5000, "x: not valid JSON (nested too deep, or a number too long)"),
    ],
    ids=lambda text: text[:12],
)
def test_compact_json_that_is_refused(text: str, line: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_json(f'{{"a":"{"a" * 20}",{text}}}', "x")
    assert str(caught.value).startswith(line)


def test_garbage_is_collected_again_after_reading_json() -> None:
    with suppress(InputError):
        parse_json("[", "x")
    assert gc.isenabled()


def test_to_json() -> None:
    value = {"b": 1, "a": [True, None, 1.5, "é"]}
    assert to_json(value) == '{"b":1,"a":[true,null,1.5,"é"]}\n'
    assert to_json(value, indent=1).count("\n") > 4
    assert parse_json(to_json(value), "x") == value
    for bad in (float("nan"), [float("inf")]):
        with pytest.raises(ValueError, match="not JSON compliant"):
            to_json(bad)
