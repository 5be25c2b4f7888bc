"""Failover: one active member owns everything, the others are on standby.

Each partition goes to the subscriber with the highest priority, ties to the lowest member id. A
member without a priority counts as the largest number, 2147483647, and so outranks every explicit
one: that is the default of ``assignment.consumer.priority`` in the article that describes the
method. The article's code gives one member the topics of all members; here a member only gets
topics that it subscribes to.

Source: F. Hussonnois, "Comprendre et implémenter des stratégies d'assignation des partitions".
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

from partage.arrays import Ints
from partage.consumers.user_data import read_priority, write_priority
from partage.errors import InputError, shown
from partage.group import Group
from partage.group.model import NO_MEMBER

CONFIG = "assignment.consumer.priority"
DEFAULT_PRIORITY = 2**31 - 1


def failover(group: Group) -> Ints:
    """[P] the member of each partition."""
    given = [priority_of(m.id, m.priority, m.config, m.user_data) for m in group.members]
    priority = np.array([DEFAULT_PRIORITY if one is None else one for one in given])
    # members are sorted by id, so that a stable sort gives ties to the lowest id
    ranked = np.argsort(-priority, kind="stable")
    subscribed = group.subscribes[group.class_of[ranked]]  # [M, T]
    first = ranked[subscribed.argmax(axis=0)]
    of_topic = np.where(subscribed.any(axis=0), first, NO_MEMBER)
    return np.asarray(of_topic[group.topic], dtype=np.int64)


def priority_of(
    member: str, priority: int | None, config: Mapping[str, Any], user_data: bytes | None
) -> int | None:
    """A member's priority: the one given, that of its configuration or that of its user data. None
    where there is none. Raises InputError."""
    if priority is not None:
        return priority
    if CONFIG not in config:
        return read_priority(user_data).value
    return parse_priority(f"member {member!r}: config.{CONFIG}", config[CONFIG])


def parse_priority(where: str, value: object) -> int:
    """A priority as a consumer's configuration has it: a number, or text. Raises InputError, which
    names ``where``, for anything but an int32."""
    try:
        # by its text: int() alone would round 1.5
        found = int(str(value))
        write_priority(found)
    except (ValueError, struct.error):
        raise InputError(where, f"{shown(value)}: expected a whole number of 32 bits") from None
    return found
