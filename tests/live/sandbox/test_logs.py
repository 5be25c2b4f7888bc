"""The reason for a node's end, read from its log."""

from __future__ import annotations

import pytest

from partage.live.sandbox.logs import reason


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        ("", "its log is empty"),
        ("hello\n\n", "hello"),
        ("INFO a\nERROR b (kafka.Kafka$)\nINFO c\n", "ERROR b (kafka.Kafka$)"),
        (
            "ERROR fatal\njava.lang.E_Exception: x\n\tat a.b(C.java)\n"
            "Caused by: java.net.BindException: taken\n\t... 3 more\nINFO bye\n",
            "java.net.BindException: taken",
        ),
        (
            "Picked up JAVA_TOOL_OPTIONS: -Xbad\nUnrecognized option: -Xbad\n"
            "Error: Could not create the Java Virtual Machine.\n"
            "Error: A fatal exception has occurred. Program will exit.\n",
            "Unrecognized option: -Xbad",
        ),
        ("Error occurred during initialization of VM\nToo small heap\n", "Too small heap"),
    ],
)
def test_reason(log: str, expected: str) -> None:
    assert reason(log) == expected
