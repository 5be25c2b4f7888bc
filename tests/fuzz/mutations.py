"""Damage to the content of a file: what disks, editors, other tools and attackers do to it.

``damaged(content, chance)`` changes bytes, lines, numbers and words; where the content is JSON, or
has JSON on its lines, also values inside. All of it follows from the random generator alone.
"""

from __future__ import annotations

import copy
import gzip
import json
import random
import re
from collections.abc import Callable
from typing import Any

ABSURD: tuple[Any, ...] = (
    *(-1, 0, 1, 2, 255, 2**31 - 1, 2**31, 2**32, 2**53, 2**60, 2**63 - 1, 2**63, 2**64, 10**18),
    *(10**30, 10**308, 10**400, -(2**31), -(2**63) - 1, 0.5, -0.0, 1e-300, 1e18, 1.7e308),
    *(
        None,
        True,
        False,
        "",
        "x",
        "0",
        "-1",
        "t",
        "t-0",
        "a\nb",
        "a\tb",
        "\x00",
        "\x1b[31m",
        "\u202e",
    ),
    *("é", "٣", "\U0001f600", "x" * 300, [], {}, [[]], [1], ["t"], {"a": 1}, [None], "NaN", "1e9"),
)
"""Values that no reader expects in each place."""

WORDS: tuple[bytes, ...] = (
    *(b"-1", b"0", b"99999999999999999999", b"1e999", b"NaN", b"Infinity", b"9" * 5000, b"0x10"),
    *(b"null", b"true", b'"', b"'", b"{", b"}", b"[", b"]", b",", b":", b"=", b"\\", b"\\u", b"/"),
    *(b"\n", b"\r", b"\t", b"\x00", b"\x1b", b"\xff", b"\xc3", b"\xe2\x80\xae", b"\\ud800", b"%s"),
    *(b"2147483648", b"-2147483649", b"9223372036854775808", b"\xef\xbb\xbf", b"#", b"-", b" "),
)

_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?")
_WORD = re.compile(rb"[A-Za-z_][\w.-]*")
_MOST = 400_000
"""Bytes of a damaged file: enough for what takes quadratic time to show."""


def damaged(content: bytes, chance: random.Random) -> bytes:
    """The content with one kind of damage, or several of them."""
    if chance.random() < 0.03:
        content, packed = content, True
    else:
        packed = False
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        content = chance.choice(_KINDS)(content, chance)[:_MOST]
    if packed:
        content = gzip.compress(content, mtime=0)
        if chance.random() < 0.7:
            content = _bytes_changed(content, chance)
    return content


def _place(content: bytes, chance: random.Random) -> tuple[int, int]:
    start = chance.randint(0, len(content))
    return start, min(len(content), start + chance.choice((0, 1, 2, 5, 20, 100)))


def _bytes_changed(content: bytes, chance: random.Random) -> bytes:
    changed = bytearray(content)
    for _ in range(chance.choice((1, 1, 4, 30))):
        if changed:
            changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


def _removed(content: bytes, chance: random.Random) -> bytes:
    start, end = _place(content, chance)
    return content[:start] + content[end:]


def _cut(content: bytes, chance: random.Random) -> bytes:
    return content[: chance.randint(0, len(content))]


def _word_put_in(content: bytes, chance: random.Random) -> bytes:
    start, end = _place(content, chance)
    return content[:start] + chance.choice(WORDS) + content[chance.choice((start, end)) :]


def _repeated(content: bytes, chance: random.Random) -> bytes:
    start, end = _place(content, chance)
    times = chance.choice((2, 10, 1000, 50_000))
    return content[:end] + content[start:end] * times + content[end:]


def _number_changed(content: bytes, chance: random.Random) -> bytes:
    return _replaced(content, _NUMBER, chance.choice([*WORDS[:8], b"7", b"-5", b"1.5"]), chance)


def _word_changed(content: bytes, chance: random.Random) -> bytes:
    words = _WORD.findall(content[:20_000])
    return _replaced(content, _WORD, chance.choice([*words, *WORDS]), chance)


def _replaced(
    content: bytes, pattern: re.Pattern[bytes], new: bytes, chance: random.Random
) -> bytes:
    found = list(pattern.finditer(content))
    if not found:
        return content
    if chance.random() < 0.1:
        return pattern.sub(lambda _: new, content)
    one = chance.choice(found)
    return content[: one.start()] + new + content[one.end() :]


def _lines_changed(content: bytes, chance: random.Random) -> bytes:
    lines = content.splitlines(keepends=True)
    if not lines:
        return content
    at, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    match chance.randrange(5):
        case 0:
            del lines[at]
        case 1:
            lines.insert(other, lines[at])
        case 2:
            lines[at], lines[other] = lines[other], lines[at]
        case 3:
            lines[at] = lines[at].rstrip(b"\n")
        case _:
            fields = re.split(rb"([ \t,]+)", lines[at])
            del fields[chance.randrange(len(fields))]
            lines[at] = b"".join(fields)
    return b"".join(lines)


def _in_another_encoding(content: bytes, chance: random.Random) -> bytes:
    text = content.decode("latin-1")
    return text.encode(chance.choice(("utf-16", "utf-32", "utf-8", "utf-8-sig")))


def _value_changed(content: bytes, chance: random.Random) -> bytes:
    """Where the content, or one of its lines, is JSON."""
    start = content.find(b"{")
    try:
        value = json.loads(content[start:])
    except (ValueError, RecursionError):  # nested deeply by another kind of damage
        return _line_of_json_changed(content, chance)
    return content[: max(start, 0)] + _dumped(_with_other_value(value, chance))


def _line_of_json_changed(content: bytes, chance: random.Random) -> bytes:
    lines = content.splitlines(keepends=True)
    numbers = [at for at, line in enumerate(lines) if line.startswith(b"{")]
    if not numbers:
        return _number_changed(content, chance)
    at = chance.choice(numbers)
    try:
        lines[at] = _dumped(_with_other_value(json.loads(lines[at]), chance)) + b"\n"
    except (ValueError, RecursionError):
        return _number_changed(content, chance)
    return b"".join(lines)


def _dumped(value: Any) -> bytes:
    try:
        return json.dumps(value).encode()
    except RecursionError:  # nested several times
        return b"[" * 100_000


def _with_other_value(value: Any, chance: random.Random) -> Any:
    places: list[tuple[Any, Any]] = []

    def walk(inside: Any) -> None:
        for key in inside if isinstance(inside, dict) else range(len(inside)):
            places.append((inside, key))
            if isinstance(inside[key], (dict, list)):
                walk(inside[key])

    if isinstance(value, (dict, list)):
        walk(value)
    if not places:
        return chance.choice(ABSURD)
    inside, key = chance.choice(places)
    other, its_key = chance.choice(places)
    match chance.randrange(8):
        case 0 | 1 | 2:
            inside[key] = chance.choice(ABSURD)
        case 3:
            del inside[key]
        case 4:
            inside[key] = copy.deepcopy(other[its_key])
        case 5 if isinstance(inside, list):
            inside.extend([inside[key]] * chance.choice((1, 100, 3000)))
        case 5 | 6 if isinstance(inside, dict):
            inside[str(chance.choice(("x", "", "é\u202e", other and str(its_key))))] = inside[key]
        case _:
            for _ in range(chance.choice((1, 50, 200))):
                inside[key] = [inside[key]]
    return value


_KINDS: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    *(_bytes_changed, _removed, _cut, _word_put_in, _word_put_in, _repeated, _number_changed),
    *(_number_changed, _word_changed, _lines_changed, _lines_changed, _in_another_encoding),
    *(_value_changed, _value_changed, _value_changed, _value_changed, _value_changed),
)


def table_damaged(content: bytes, chance: random.Random) -> bytes:
    """Damage to a Parquet file: of its bytes or, as often, of the table in it."""
    if not content.startswith(b"PAR1") or chance.random() < 0.5:
        return damaged(content, chance)
    import io

    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(io.BytesIO(content))
    for _ in range(chance.choice((1, 1, 2))):
        at = chance.randrange(max(table.num_columns, 1))
        try:
            table = _other_table(table, at, chance)
        except (pa.ArrowException, OverflowError, IndexError, UnicodeDecodeError):
            continue  # such a table cannot exist
    written = io.BytesIO()
    try:
        pq.write_table(table, written)
    except pa.ArrowException:
        return content
    return written.getvalue()


def _other_table(table: Any, at: int, chance: random.Random) -> Any:
    import pyarrow as pa

    name = table.column_names[at]
    match chance.randrange(8):
        case 0:
            return table.remove_column(at)  # a damaged table may have two of that name
        case 1:
            return table.rename_columns(
                [
                    chance.choice(("", "x", name, "a\nb")) if i == at else n
                    for i, n in enumerate(table.column_names)
                ]
            )
        case 2:
            return pa.concat_tables([table] * chance.choice((0, 2, 50)))
        case 3:
            kind = chance.choice((pa.string(), pa.float64(), pa.int8(), pa.binary(), pa.uint64()))
            return table.set_column(at, name, table.column(at).cast(kind))
        case 4:
            return table.replace_schema_metadata({b"partage": chance.choice(WORDS)})
        case 5:
            return table.append_column(name, table.column(at))
        case 6:
            not_utf_8 = pa.array([b"\xe9"] * table.num_rows).view(pa.string())
            return table.set_column(at, name, not_utf_8)
        case _:
            values = table.column(at).to_pylist()
            other = [chance.choice(ABSURD) if chance.random() < 0.6 else value for value in values]
            return table.set_column(at, name, pa.array(other, table.column(at).type))
