"""Text from outside is visible and harmless, and otherwise as it was."""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from xml.etree import ElementTree

import pytest

from partage.printable import is_printable, printable, printable_json, printable_values

EVERY = [chr(code) for code in range(sys.maxunicode + 1)]


def test_no_character_that_drives_a_terminal_or_cannot_be_seen_is_printable() -> None:
    """By Unicode's own categories; the table here may be older than this Python's."""
    unseen = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    missed = [one for one in EVERY if unicodedata.category(one) in unseen and is_printable(one)]
    assert missed == []


def test_letters_digits_signs_and_spaces_stay() -> None:
    kept = {"L", "N", "P", "S", "Zs"}
    unseen = "\u115f\u1160\u3164\uffa0"
    changed = [
        one
        for one in EVERY
        if {unicodedata.category(one), unicodedata.category(one)[0]} & kept
        and one not in unseen
        and printable(one) != one
    ]
    assert changed == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("orders", "orders"),
        ("größe 方案 ✓", "größe 方案 ✓"),
        ("\x1b]52;c;aGk=\x07", r"\x1b]52;c;aGk=\x07"),
        ("a\u202eb\u2066", r"a\u202eb\u2066"),
        ("a\x00\x85\r\n\t", r"a\x00\x85\r\n\t"),
        ("\ud83d \U000e0041", r"\ud83d \U000e0041"),
        ("[red]<b>&", "[red]<b>&"),
        ("", ""),
    ],
)
def test_escape_sequences(text: str, shown: str) -> None:
    assert printable(text) == shown
    assert is_printable(text) is (text == shown)
    assert is_printable(shown)
    assert printable(shown) == shown


def test_line_ends_can_stay() -> None:
    assert printable("a\nb\r\x1b", lines=True) == "a\nb\\r\\x1b"


def test_printable_text_can_be_written_as_xml() -> None:
    xml = re.compile("[\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
    assert [one for one in EVERY if is_printable(one) and not xml.fullmatch(one)] == []
    text = printable("\x00\ufffe\ud800")
    assert ElementTree.fromstring(f"<a>{text}</a>").text == r"\x00\ufffe\ud800"


def test_json_keeps_its_value() -> None:
    value = {"a\u202e\x85": ["\U000e0041\u200b", 1, None, "größe"], "b": "\n"}
    text = printable_json(json.dumps(value, ensure_ascii=False, indent=1))
    assert json.loads(text) == value
    assert is_printable(text.replace("\n", ""))
    assert "größe" in text


def test_values_of_json() -> None:
    value = {"a\x1b": ["\u202e", ("\x00", 1.5, None, True)]}
    assert printable_values(value) == {r"a\x1b": [r"\u202e", [r"\x00", 1.5, None, True]]}
    assert not is_printable(1)
