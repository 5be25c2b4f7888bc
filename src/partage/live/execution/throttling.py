"""Replication throttles while partitions move, and what was there before put back (KIP-73).

A throttle has two halves: on each broker a rate for what it sends as leader and one for what it
fetches as follower, on each topic the replicas that count. Those that are there already send, the
new ones fetch; followers that are only keeping up are never slowed down.

Whatever was set before is noted in the journal before it is touched, and put back exactly, also by
a later run. Lists of replicas that others have set stay in force: ours are added to them. Other
tools take throttles off that they take for leftovers: ``ensure`` sets them again.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress

from kafka import KafkaAdminClient
from kafka import errors as kafka_errors
from kafka.admin import ConfigResource, ConfigResourceType

from partage.errors import PartageError
from partage.live.admin.connection import alive_brokers, chunks
from partage.live.admin.snapshot import CHUNK, read_throttles
from partage.live.admin.states import RATES, TOPIC_THROTTLES, Throttles
from partage.live.execution.job import Change
from partage.live.execution.journal import Journal

LEADER_LIST, FOLLOWER_LIST = TOPIC_THROTTLES

_EVERY = "*"
_LONGEST = 2**15 - 1
"""Characters of a value: of a longer one Kafka cannot read the request, and hangs up."""


class Throttling:
    """The throttles of one run. ``alive``: brokers whose settings can be changed."""

    def __init__(self, admin: KafkaAdminClient, journal: Journal) -> None:
        self._admin, self._journal = admin, journal
        self._wanted = Throttles()

    def set(self, rate: int, changes: Iterable[Change], alive: Iterable[int]) -> None:
        """Slow the moves of these changes down to ``rate`` bytes per second on each broker."""
        moving = [change for change in changes if change.adding]
        brokers = {b for change in moving for b in (*change.origin, *change.adding)} & set(alive)
        senders, receivers = _lists(moving)
        topics = sorted(senders)
        self._note(sorted(brokers), topics)
        before = self._journal.throttles_before
        for topic in topics:
            own = before.topics.get(topic, {})
            self._wanted.topics[topic] = {
                LEADER_LIST: _joined(own.get(LEADER_LIST), senders[topic]),
                FOLLOWER_LIST: _joined(own.get(FOLLOWER_LIST), receivers[topic]),
            }
        for broker in brokers:
            self._wanted.brokers[broker] = dict.fromkeys(RATES, str(rate))
        # the lists first: a rate without a list slows nothing down
        self._apply_lists({topic: self._wanted.topics[topic] for topic in topics})
        self._apply_rates({broker: self._wanted.brokers[broker] for broker in brokers})

    def ensure(self, alive: Iterable[int]) -> bool:
        """Set again what others have taken off; whether there was any. What cannot be read now, as
        of a broker that is cut off from here, is looked at the next time."""
        rates: dict[int, dict[str, str]] = {}
        lists: dict[str, dict[str, str]] = {}
        for broker in sorted(set(self._wanted.brokers) & set(alive)):
            with suppress(kafka_errors.KafkaError):
                now = read_throttles(self._admin, [broker], [])
                if _differs(now.brokers.get(broker), own := self._wanted.brokers[broker]):
                    rates[broker] = own
        with suppress(kafka_errors.KafkaError):
            wanted = self._wanted.topics
            now = read_throttles(self._admin, [], sorted(wanted))
            lists = {t: own for t, own in wanted.items() if _differs(now.topics.get(t), own)}
        self._apply_lists(lists)
        return bool(self._apply_rates(rates)) or bool(lists)

    def put_back(self, alive: Iterable[int], topics: Iterable[str] | None = None) -> list[int]:
        """Everything as it was before, or only these topics; gives the brokers that are dead, whose
        settings stay until a later run finds them alive."""
        before = self._journal.throttles_before
        some = before.topics if topics is None else set(topics) & set(before.topics)
        there = set(alive)
        brokers = [] if topics is not None else sorted(set(before.brokers) & there)
        self._apply_lists({topic: before.topics[topic] for topic in sorted(some)}, delete=True)
        brokers = self._apply_rates({b: before.brokers[b] for b in brokers}, delete=True)
        if brokers or some:
            self._journal.write("throttles put back", brokers=brokers, topics=sorted(some))
        for broker in brokers:
            self._wanted.brokers.pop(broker, None)
        for topic in some:
            self._wanted.topics.pop(topic, None)
        return [] if topics is not None else sorted(set(before.brokers) - set(brokers))

    def _note(self, brokers: list[int], topics: list[str]) -> None:
        """Write down what is set on those that were not touched yet."""
        known = self._journal.throttles_before
        brokers = [broker for broker in brokers if broker not in known.brokers]
        topics = [topic for topic in topics if topic not in known.topics]
        if not brokers and not topics:
            return
        now = read_throttles(self._admin, brokers, topics)
        self._journal.write(
            "throttles before",
            brokers={str(b): _of(now.brokers.get(b), RATES) for b in brokers},
            topics={t: _of(now.topics.get(t), TOPIC_THROTTLES) for t in topics},
        )

    def _apply_rates(
        self, wanted: Mapping[int, Mapping[str, str]], delete: bool = False
    ) -> list[int]:
        """Set the rates of brokers, with ``delete`` also remove what is not said; gives the brokers
        that took it: one that dies at this moment does not."""
        done = []
        for broker, own in sorted(wanted.items()):
            operations = _operations(own, RATES, delete)
            resource = ConfigResource(ConfigResourceType.BROKER, str(broker), operations)
            try:
                self._alter([resource])
            except kafka_errors.KafkaError:
                continue  # refusals are answers: what is raised is that it does not answer
            done.append(broker)
        return done

    def _apply_lists(self, wanted: Mapping[str, Mapping[str, str]], delete: bool = False) -> None:
        """Set the lists of topics, with ``delete`` also remove what is not said."""
        resources = [
            ConfigResource(
                ConfigResourceType.TOPIC,
                topic,
                _operations(own, TOPIC_THROTTLES, delete),
            )
            for topic, own in sorted(wanted.items())
        ]
        for part in chunks(resources, CHUNK):
            self._alter(list(part))

    def _alter(self, resources: list[ConfigResource]) -> None:
        answered = self._admin.alter_configs(resources, raise_on_unknown=False)
        for kind, results in answered.items():
            for name, result in results.items():
                # a topic deleted meanwhile takes its settings with it
                if result == "OK" or "UnknownTopicOrPartition" in result:
                    continue
                error = _error(result)
                if issubclass(error, kafka_errors.RetriableError):
                    raise error(result)  # as where nobody answers: it may in a moment
                raise PartageError(f"{kind} {name}: its throttle cannot be set: {result}")


def _error(said: str) -> type[BaseException]:
    """The error that kafka-python has put into words: "[Error 41] NotControllerError: …"."""
    name = re.search(r"\w+Error", said.partition("]")[2])
    found = getattr(kafka_errors, name[0], None) if name else None
    return found if isinstance(found, type) else PartageError


def clear_away(admin: KafkaAdminClient, journal: Journal) -> None:
    """Put back what a run that was killed has left, where nothing moves that it should slow down:
    for a command that is refused, and will not do it itself."""
    before = journal.throttles_before
    if (before.brokers or before.topics) and not admin.list_partition_reassignments():
        Throttling(admin, journal).put_back(alive_brokers(admin.describe_cluster()))


def _lists(changes: Iterable[Change]) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """By topic: replicas that are there, and new ones, as ``partition:broker``."""
    senders: dict[str, list[str]] = defaultdict(list)
    receivers: dict[str, list[str]] = defaultdict(list)
    for change in changes:
        senders[change.topic] += [f"{change.partition}:{broker}" for broker in change.origin]
        receivers[change.topic] += [f"{change.partition}:{broker}" for broker in change.adding]
    return senders, receivers


def _joined(before: str | None, ours: list[str]) -> str:
    if before == _EVERY:
        return _EVERY
    theirs = before.split(",") if before else []
    joined = ",".join(dict.fromkeys([*theirs, *ours]))
    # all replicas of the topic then: followers that are in sync are never slowed down
    return joined if len(joined) <= _LONGEST else _EVERY


def _differs(now: Mapping[str, str] | None, wanted: Mapping[str, str]) -> bool:
    return any((now or {}).get(name) != value for name, value in wanted.items())


def _of(own: Mapping[str, str] | None, names: Iterable[str]) -> dict[str, str]:
    return {name: own[name] for name in names if own and name in own}


def _operations(
    own: Mapping[str, str], names: Iterable[str], delete: bool
) -> dict[str, tuple[str, str | None]]:
    found: dict[str, tuple[str, str | None]] = {
        name: ("SET", own[name]) for name in names if name in own
    }
    if delete:
        found |= {name: ("DELETE", None) for name in names if name not in own}
    return found
