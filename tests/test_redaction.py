"""Secrets in messages of others: hidden in every form in which a message quotes them."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest

from partage.errors import InputError, PartageError, SeveralError, shown
from partage.redaction import HIDDEN, hide, redacted, split_login, without_login
from tests.brokers.check.tampering import at_most


@pytest.mark.parametrize("secret", ["hunter22", 'a "b" \\c', "größe 1", "it's=&%", "  padded  "])
@pytest.mark.parametrize("quoted", [str, json.dumps, repr, ascii, quote, lambda one: f"<{one}>"])
def test_a_hidden_value_is_shown_in_no_form(secret: str, quoted: object) -> None:
    assert callable(quoted)
    text = f"refused: {quoted(secret)} at line 1"
    assert redacted(text) == text
    hide(secret)
    shown = redacted(text)
    assert secret.strip() not in shown
    assert HIDDEN in shown or quoted is ascii
    assert shown.startswith("refused: ")
    assert shown.endswith(" at line 1")


def test_half_of_a_surrogate_pair() -> None:
    hide("hunter\ud800")
    assert redacted("is hunter\ud800 or hunter%ED%A0%80") == "is *** or ***"


def test_a_value_within_another_and_lines() -> None:
    hide("hunter")
    hide("hunter22")
    hide("-----BEGIN KEY-----\nMIIEvQIBADAN\nBgkqhkiG9w==\n")
    hide("abc")
    hide("")
    assert redacted("hunter22, hunter, BgkqhkiG9w==, abc") == "***, ***, ***, abc"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("kafka://me:pw@h:1/t: no", "kafka://***@h:1/t: no"),
        ("s3a://KEY:SE/CR@ET@bucket/a b@c", "s3a://***@bucket/a b@c"),
        ("abfss://box@me.dfs.core.windows.net/a", "abfss://box@me.dfs.core.windows.net/a"),
        ("abfss://box:k/ey@me.dfs.core.windows.net/a", "abfss://***@me.dfs.core.windows.net/a"),
        ("sc://h:1/;token=abc;user_id=me", "sc://h:1/;token=***;user_id=me"),
        (
            "--conf spark.hadoop.fs.s3a.secret.key=abc d",
            "--conf spark.hadoop.fs.s3a.secret.key=*** d",
        ),
        ("a PASSWORD='x y' b", "a PASSWORD=*** b"),
        ("fs.azure.account.key.me.dfs.net=abc d", "fs.azure.account.key.me.dfs.net=*** d"),
        ("private-key=a, private.key.id=b", "private-key=***, private.key.id=***"),
        ("https://b/x?sv=1&sig=a%2Fb", "https://b/x?sv=1&sig=***"),
        ("https://h/x?api_key=a&query=up", "https://h/x?api_key=***&query=up"),
        ("sigma=0.1, partition-key=a", "sigma=0.1, partition-key=a"),
        ('expected password="…";', 'expected password="…";'),
        ("topic a@b, key=value", "topic a@b, key=value"),
        ("--leaders me:p/w@h:1: expected", "--leaders ***@h:1: expected"),
        ("servers=a:1,'me:pw@h:1'", "servers=a:1,'***@h:1'"),
        ("f.json: line 3: a@b", "f.json: line 3: a@b"),
        ("a: b, 12:30 c@d", "a: b, 12:30 c@d"),
        (
            'x required username="a" password="b\\"c d"; e',
            "x required username=*** password=***; e",
        ),
        ('password="never closed; e', "password=***"),
        (
            "a -----BEGIN PRIVATE KEY-----\nMII\n-----END PRIVATE KEY----- b",
            "a -----BEGIN PRIVATE KEY-----*** b",
        ),
        ("-----BEGIN KEY-----\\nProc-Type: 4\\nMII", "-----BEGIN KEY-----***"),
    ],
)
def test_secrets_by_their_place(text: str, shown: str) -> None:
    assert redacted(text) == shown


@pytest.mark.parametrize(
    "part", ["a.", "a:,", "://", "x=", "(a,", 'password="', "-----BEGIN A-----"]
)
def test_a_long_message_takes_no_quadratic_time(part: str) -> None:
    with at_most(20):
        redacted(part * 30_000)


def test_a_value_is_cut_after_it_is_redacted() -> None:
    hide("hunter22" * 20)
    for secret in ("hunter22" * 20, f"{'x' * 40} password='{'y' * 90}'", ["password=yy", "a"]):
        assert HIDDEN in shown(secret)
        assert "hunter" not in shown(secret)
        assert "yy" not in shown(secret)


def test_a_url_without_its_login() -> None:
    assert without_login("kafka://a:b/c d@e@h:1/t") == "kafka://***@h:1/t"
    assert without_login("kafka://h:1/t") == "kafka://h:1/t"


@pytest.mark.parametrize(
    ("url", "place", "login"),
    [
        ("https://me:gehe%40im@h:1/a@b?c=d@e", "https://h:1/a@b?c=d@e", "me:gehe%40im"),
        ("https://h/a?query=x@1", "https://h/a?query=x@1", ""),
        ("spark://a@me:geheim@h", "spark://h", "a@me:geheim"),
        ("local[2]", "local[2]", ""),
    ],
)
def test_a_login_is_split_off_and_hidden(url: str, place: str, login: str) -> None:
    assert split_login(url) == (place, login)
    assert not login or redacted(f"no {login}, {login.rpartition(':')[2]}") == "no ***, ***"


def test_errors_show_no_secret() -> None:
    hide("hunter22")
    assert str(PartageError("Kafka says hunter22")) == "Kafka says ***"
    assert str(InputError("f: hunter22", "no")) == "f: ***: no"
    assert SeveralError(["a hunter22", "b"]).lines == ["a ***", "b"]
