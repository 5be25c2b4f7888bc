"""What the log of a Kafka node, or of its tools, says of its end."""

from __future__ import annotations

import re

READY = "Kafka Server started"
"""Kafka writes it once the controller has unfenced the broker."""

PORT_TAKEN = "Address already in use"

_SAYS_NOTHING = re.compile(
    r"at |\.\.\. |Picked up |Error: Could not create the Java|Error: A fatal exception"
    r"|Error occurred during initialization of VM"
)
"""Lines of a log that name no reason: stack traces, and how Java begins and ends a complaint."""


def reason(log: str) -> str:
    """The line of a log that says why its process ended: the last exception, error or line."""
    lines = [line.strip() for line in log.splitlines()]
    said = [line for line in lines if line and not _SAYS_NOTHING.match(line)]
    for pattern in (r"(?:[\w$]+\.)+[\w$]*(?:Exception|Error): ", r"\b(?:ERROR|FATAL|Error)\b"):
        telling = [line for line in said if re.search(pattern, line)]
        if telling:
            return telling[-1].removeprefix("Caused by: ")[:300]
    return said[-1][:300] if said else "its log is empty"
