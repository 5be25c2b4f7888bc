"""What another assignor would have saved: time without an owner, from the replays of a history.

Compared are the assignors of Kafka's consumers, each under the protocol that it speaks. A replay is
compared with a replay: that of the assignor which the group used, if the logs name it; otherwise
with the logs themselves. Without rounds (KIP-848) there is nothing to compare, and if the replay of
the assignor that the group used does not resemble the logs, no replay shows what it would save.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import zip_longest
from typing import Any

from partage.consumers.history.events import Partition
from partage.consumers.history.model import SESSION_TIMEOUT, History, seconds

KAFKA: Mapping[str, str] = {
    "cooperative-sticky": "cooperative",
    "sticky": "eager",
    "roundrobin": "eager",
    "range": "eager",
}
"""The protocol of each of Kafka's assignors; of equals the first is named."""

_LEAST = 0.01
"""The smallest share that counts as a saving."""

_FACTOR = 3
"""A replay with this many times more or less time without an owner does not resemble the logs."""


@dataclass(frozen=True)
class Saving:
    """The assignor with the least time without an owner, in partition-seconds.

    - ``saved``: the share that it saves, 0 if nothing does; None: unknown, as the replay of
      ``used`` does not resemble the logs
    - ``seconds``: in its replay; ``observed_seconds``: in the logs
    - ``used``: the group's assignor; None: the logs name none, several, or none of Kafka's
    - ``used_seconds``: in the replay of ``used``
    - ``crash_seconds``: of ``observed_seconds``, those within a session timeout after a crash,
      which no assignor saves
    - ``consumer_seconds``: in the replay with the consumer protocol (KIP-848), None without one;
      ``consumer_saved``: the share that it saves
    """

    assignor: str
    saved: float | None
    seconds: float
    observed_seconds: float
    used: str | None
    used_seconds: float | None
    crash_seconds: float
    consumer_seconds: float | None = None
    consumer_saved: float | None = None

    def to_json(self) -> dict[str, Any]:
        """The JSON object ``saving`` of a group."""
        shares = {"saved": self.saved, "consumer_saved": self.consumer_saved}
        return (
            asdict(self)
            | {name: None if share is None else round(share, 4) for name, share in shares.items()}
            | {"crash_seconds": round(self.crash_seconds, 6)}
        )

    @property
    def sentence(self) -> str:
        """The saving as a sentence."""
        total = f"{self.observed_seconds:,.1f} partition-seconds without an owner"
        if self.saved is None:
            return (
                f"{total}, but {self.used_seconds:,.1f} in the replay of {self.used}, which the "
                "group used: the replay does not resemble the logs, so no saving is shown"
            )
        if self.saved:
            return f"{self.assignor} would have saved {100 * self.saved:.0f} % of the {total}"
        return f"none of Kafka's assignors would have saved any of the {total}"

    @property
    def consumer_sentence(self) -> str:
        """What a move to the consumer protocol would have saved; empty if that is unknown."""
        if self.consumer_saved is None:
            return ""
        share = f"{100 * self.consumer_saved:.0f} %" if self.consumer_saved else "nothing"
        return f"group.protocol=consumer would have saved {share} of it"


def saving_of(
    history: History, replays: Mapping[str, Mapping[str, Mapping[str, Any]]]
) -> Saving | None:
    """The saving by a group's replays (by assignor and protocol); None if no partition was without
    an owner, if there are no rounds, or if none of the replays is of Kafka's assignors."""
    observed = seconds(sum(history.unowned.values()))
    replayed = {
        name: float(found["unowned_partition_seconds"])
        for name, protocol in KAFKA.items()
        if "cannot" not in (found := replays.get(name, {}).get(protocol, {"cannot": ""}))
    }
    if not observed or not replayed or not history.generation_count:
        return None
    best = min(replayed, key=replayed.__getitem__)
    used = used_by(history)
    used_seconds = replayed.get(used or "")
    consumer = replays.get("uniform", {}).get("consumer", {}).get("unowned_partition_seconds")
    saved = consumer_saved = None
    if used_seconds is None or _resemble(used_seconds, observed):
        base = observed if used_seconds is None else used_seconds
        saved = 0.0 if best == used else _share(replayed[best], base)
        consumer_saved = None if consumer is None else _share(consumer, base)
    return Saving(
        best,
        saved,
        replayed[best],
        observed,
        used,
        used_seconds,
        crash_seconds_of(history),
        consumer,
        consumer_saved,
    )


def _resemble(replayed: float, observed: float) -> bool:
    return max(replayed, observed) < _FACTOR * min(replayed, observed)


def _share(seconds: float, base: float) -> float:
    """The share that is saved, 0 if that is next to nothing."""
    share = 1 - seconds / base
    return share if share >= _LEAST else 0.0


def crash_seconds_of(history: History) -> float:
    """Partition-seconds without an owner until crashed members were removed."""
    if history.whole is not None:
        return history.whole.crash_seconds
    timeout = history.settings.get("session_timeout", SESSION_TIMEOUT)
    gone = {member.id: member.ends for member in history.members if member.crashed}
    spans = sorted(history.owned, key=lambda span: (span.partition, span.start))
    waits: dict[Partition, float] = {}
    for span, after in zip_longest(spans, spans[1:]):
        ends = gone.get(span.member)
        if ends is not None and span.end >= ends:
            taken = after is not None and after.partition == span.partition
            wait = seconds((after.start if taken else history.until) - span.end)
            waits[span.partition] = waits.get(span.partition, 0.0) + min(max(wait, 0.0), timeout)
    return sum(min(wait, seconds(history.unowned.get(p, 0))) for p, wait in waits.items())


def used_by(history: History) -> str | None:
    """The assignor of all rounds; where logs name only the protocol, the one that speaks it."""
    if history.whole is not None:
        return history.whole.used
    rounds = {(r.assignor, r.protocol) for r in history.rounds if r.generation is not None}
    if len(rounds) != 1:
        return None
    ((assignor, protocol),) = rounds
    if assignor is not None:
        return assignor if KAFKA.get(assignor) == protocol else None
    speakers = [name for name, spoken in KAFKA.items() if spoken == protocol]
    return speakers[0] if len(speakers) == 1 else None
