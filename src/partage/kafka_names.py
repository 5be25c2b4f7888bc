"""Which names Kafka accepts.

Topics, and ``group.instance.id``, which has the same rule: ``org.apache.kafka.common.internals.
Topic.validate`` and ``JoinGroupRequest.validateGroupInstanceId`` of Apache Kafka 4.3. Groups,
members, clients and racks may have any name that fits into a request (a length of 16 bits); from a
file, partage accepts printable ones.
"""

from __future__ import annotations

import re

TOPIC_LENGTH = 249
"""The most characters of a topic's name."""

TOPIC = rf"(?!\.{{1,2}}\Z)[A-Za-z0-9._-]{{1,{TOPIC_LENGTH}}}"
"""A regular expression for the name of a topic. Names of one or two dots would be folders."""

TOPIC_RULE = f"1 to {TOPIC_LENGTH} letters, digits, '.', '_' or '-'"

MAX_LENGTH = 2**15 - 1
"""The most characters of any other name."""

_TOPIC = re.compile(TOPIC)


def is_topic(name: str) -> bool:
    """Whether Kafka accepts a topic of this name."""
    return _TOPIC.fullmatch(name) is not None
