"""What the log of a Kafka node, or the output of Kafka's tools, reports about its end."""

from __future__ import annotations

import re

READY = "Kafka Server started"
"""Kafka writes it once the controller has unfenced the broker."""

PORT_TAKEN = "Address already in use"

_WITHOUT_REASON = re.compile(
    r"at |\.\.\. |Picked up |Error: Could not create the Java|Error: A fatal exception"
    r"|Error occurred during initialization of VM"
)
"""Lines that give no reason: stack traces, and the first and last line of Java's own errors."""


def reason(log: str) -> str:
    """Why a log's process ended: the last line with an exception or error, or the last line."""
    lines = [line.strip() for line in log.splitlines()]
    candidates = [line for line in lines if line and not _WITHOUT_REASON.match(line)]
    for pattern in (r"(?:[\w$]+\.)+[\w$]*(?:Exception|Error): ", r"\b(?:ERROR|FATAL|Error)\b"):
        matching = [line for line in candidates if re.search(pattern, line)]
        if matching:
            return matching[-1].removeprefix("Caused by: ")[:300]
    return candidates[-1][:300] if candidates else "its log is empty"
