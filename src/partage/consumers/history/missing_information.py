"""What no line told, in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import pairwise

from partage.consumers.history.generations import Generations
from partage.consumers.history.model import HEARTBEAT_INTERVAL, SESSION_TIMEOUT, MemberSession

_MANY = 8


def missing_information(
    members: Iterable[MemberSession],
    rounds: Generations,
    topics: Mapping[str, int],
    guessed: Mapping[str, int],
    session_timeout: float | None,
    settings: Mapping[str, float],
    zones: Set[bool],
) -> list[str]:
    """Of a whole group. ``guessed``: partition counts that are not told; ``session_timeout``: the
    one that is; ``zones``: whether lines name a time zone."""
    found = []
    if guessed:
        counts = [f"{topic} {count}" for topic, count in guessed.items()]
        found.append(
            f"partition counts: not in the logs; as many as were ever assigned: {_some(counts)}"
        )
    if silent := sorted(member.id for member in members if not member.topics):
        found.append(
            f"subscriptions of {_some(silent)}: not in the logs (told at DEBUG); taken to be "
            f"{_some(list(topics)) or 'nothing'}"
        )
    if session_timeout is None:
        taken = settings.get("session_timeout")
        found.append(
            f"session timeout: not in the logs; the replay takes Kafka's {SESSION_TIMEOUT:g} s"
            if taken is None
            else f"session timeout: not in the logs; the replay takes {taken:.3f} s, the shortest "
            "silence after which others went on without a member"
        )
    if "heartbeat_interval" not in settings:
        found.append(
            f"heartbeat interval: not in the logs; the replay takes {HEARTBEAT_INTERVAL:g} s, as "
            "Kafka, or a third of the session timeout: so long members hear nothing of a rebalance"
        )
    if not any(one.assignor for one in rounds):
        found.append("assignor: no line names it")
    if not rounds.listed:
        found.append("generations: no line names one (KIP-848 has none), so there are no rounds")
    return found + _generations(rounds) + _zone(zones)


def _generations(rounds: Generations) -> list[str]:
    found = []
    keys = [one.key for one in rounds]
    if keys and keys[0][1] > 1:
        found.append(f"the logs begin in generation {keys[0][1]}: what was before is unknown")
    missing = [
        str(number)
        for one, other in pairwise(keys)
        if one[0] == other[0]
        for number in range(one[1] + 1, other[1])
    ]
    if missing:
        found.append(f"generations {_some(missing)}: in none of the logs")
    for one in rounds:
        untold = sorted(one.joined.keys() - one.assigned.keys()) if one.plan is None else []
        found += [
            f"generation {one.key[1]}: what {member} was assigned is in none of the logs"
            for member in untold
        ]
    return found


def _zone(zones: Set[bool]) -> list[str]:
    if zones == {False}:
        return ["time zone: no line names one; times are shown as they stand"]
    if len(zones) > 1:
        return ["time zone: some lines name one and others do not; those are taken as UTC"]
    return []


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MANY} more" if len(names) > _MANY else ""
    return ", ".join(names[:_MANY]) + more
