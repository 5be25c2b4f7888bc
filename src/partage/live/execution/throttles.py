"""Replication throttles while partitions move (KIP-73), and the earlier ones restored afterwards.

A throttle has two halves: on each broker a rate for what it sends as leader and one for what it
fetches as follower; on each topic the lists of replicas that count. Existing replicas send, new
ones fetch. Followers that only keep up are never slowed down. What a broker copies between its log
dirs has a separate rate, which is set while that happens.

Whatever was set before is saved in the journal before it is changed, and restored exactly, also by
a later run. Replica lists that others have set stay in force: ours are added to them. Some tools
remove throttles that they take for leftovers: ``set_again`` puts them back. Brokers report a
setting when they have learned of it, which may take seconds: only what was reported can have been
removed.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress

from kafka import KafkaAdminClient
from kafka import errors as kafka_errors
from kafka.admin import ConfigResource, ConfigResourceType

from partage.errors import PartageError
from partage.live.admin.connection import chunks, describe_error
from partage.live.admin.snapshot import read_throttles, read_topic_ids
from partage.live.admin.states import (
    BROKER_THROTTLES,
    LOG_DIR_RATE,
    RATES,
    TOPIC_THROTTLES,
    Throttles,
)
from partage.live.execution.changes import Change
from partage.live.execution.journal import Journal

LEADER_LIST, FOLLOWER_LIST = TOPIC_THROTTLES

_ALL_REPLICAS = "*"
_LONGEST_VALUE = 2**15 - 1
"""Characters: Kafka cannot parse a request with a longer one, and closes the connection."""

_TOPICS_PER_REQUEST = 50
"""A KRaft controller writes the configurations of a request in one batch, of 8 MiB at most, and
refuses more with an unknown error. So many topics fit with the longest lists, and take seconds."""


class ReplicationThrottles:
    """The throttles of one run. ``alive``: brokers whose settings can be changed now."""

    def __init__(self, admin: KafkaAdminClient, journal: Journal) -> None:
        self._admin, self._journal = admin, journal
        self._set = Throttles()
        self._reported: set[int | str] = set()
        """Brokers and topics that have reported what is set now."""

    def set(self, rate: int, changes: Iterable[Change], alive: Iterable[int]) -> None:
        """Limit the moves of these changes to ``rate`` bytes per second on each broker."""
        changes, alive = list(changes), set(alive)
        moves = [change for change in changes if change.adding]
        brokers = {b for change in moves for b in (*change.origin, *change.adding)} & alive
        # new replicas, too: one that its broker created elsewhere is moved afterwards
        inside = {b for change in changes for b in change.placing} & alive
        senders, receivers = _replica_lists(moves)
        topics = sorted(senders)
        self._save(sorted(brokers | inside), inside, topics)
        before = self._journal.saved_throttles
        for topic in topics:
            own = before.topics.get(topic, {})
            lists = {
                LEADER_LIST: _merged(own.get(LEADER_LIST), senders[topic]),
                FOLLOWER_LIST: _merged(own.get(FOLLOWER_LIST), receivers[topic]),
            }
            if self._set.topics.get(topic) != lists:
                self._reported.discard(topic)
            self._set.topics[topic] = lists
        for broker in brokers | inside:
            limited = [
                *(RATES if broker in brokers else ()),
                *([LOG_DIR_RATE] * (broker in inside)),
            ]
            # int: a ``units.Rate`` is text like 50MB as a str
            rates = dict.fromkeys(limited, str(int(rate)))
            if self._set.brokers.get(broker) != rates:
                self._reported.discard(broker)
            self._set.brokers[broker] = rates
        # lists before rates: a rate without a list limits nothing
        self._alter_topics({topic: self._set.topics[topic] for topic in topics})
        self._alter_brokers({broker: self._set.brokers[broker] for broker in brokers | inside})

    def set_again(self, alive: Iterable[int]) -> bool:
        """Set again what is not set; returns whether others have removed any of it: what a broker
        has not reported yet, it may still learn. Settings that cannot be read now, as of a broker
        that is unreachable from here, are left to the next call."""
        rates: dict[int, dict[str, str]] = {}
        lists: dict[str, dict[str, str]] = {}
        brokers = set(self._set.brokers) & set(alive)
        for broker in sorted(brokers):
            with suppress(kafka_errors.KafkaError):
                now = read_throttles(self._admin, [broker], [])
                if _differs(now.brokers.get(broker), own := self._set.brokers[broker]):
                    rates[broker] = own
                else:
                    self._reported.add(broker)
        with suppress(kafka_errors.KafkaError):
            wanted = self._set.topics
            now = read_throttles(self._admin, [], sorted(wanted))
            lists = {t: own for t, own in wanted.items() if _differs(now.topics.get(t), own)}
            # any broker answers: all must have the rates, which were set after the lists
            if brokers <= self._reported:
                self._reported |= wanted.keys() - lists.keys()
        self._alter_topics(lists)
        removed = self._reported & {*self._alter_brokers(rates), *lists}
        self._reported -= removed
        return bool(removed)

    def restore(self, alive: Iterable[int]) -> list[int]:
        """Restore all saved throttles; returns the brokers that do not answer, whose throttles stay
        until a later run reaches them. Raises PartageError where Kafka refuses; what it does not
        refuse is restored."""
        before = self._journal.saved_throttles
        reachable = sorted(set(before.brokers) & set(alive))
        topics, refused = sorted(before.topics), None
        try:
            self._restore_topics(before, topics)
        except PartageError as error:
            topics, refused = [], error
        restored = self._alter_brokers({b: before.brokers[b] for b in reachable}, delete=True)
        if restored or topics:
            self._journal.throttles_restored(restored, topics)
        for broker in restored:
            self._set.brokers.pop(broker, None)
        if refused is not None:
            raise refused
        return sorted(set(before.brokers) - set(restored))

    def restore_topics(self, topics: Iterable[str]) -> None:
        """Restore the saved lists of these topics; the rates of brokers stay."""
        before = self._journal.saved_throttles
        saved = sorted(set(topics) & set(before.topics))
        self._restore_topics(before, saved)
        if saved:
            self._journal.throttles_restored([], saved)

    def _restore_topics(self, before: Throttles, topics: Iterable[str]) -> None:
        self._alter_topics({topic: before.topics[topic] for topic in sorted(topics)}, delete=True)
        for topic in topics:
            self._set.topics.pop(topic, None)

    def _save(self, brokers: list[int], inside: Collection[int], topics: list[str]) -> None:
        """Save the throttles of brokers and topics that are not saved yet; of brokers ``inside``,
        also that between their log dirs, empty where it is not set."""
        saved = self._journal.saved_throttles
        missing = [broker for broker in brokers if broker not in saved.brokers]
        between = [b for b in sorted(inside) if LOG_DIR_RATE not in saved.brokers.get(b, {})]
        topics = [topic for topic in topics if topic not in saved.topics]
        if not missing and not between and not topics:
            return
        now = read_throttles(self._admin, sorted({*missing, *between}), topics)
        rates = {b: _only(now.brokers.get(b), RATES if b in missing else ()) for b in now.brokers}
        for broker in between:
            own = now.brokers.get(broker, {})
            rates.setdefault(broker, {})[LOG_DIR_RATE] = own.get(LOG_DIR_RATE, "")
        self._journal.save_throttles(
            Throttles(
                {broker: rates.get(broker, {}) for broker in sorted({*missing, *between})},
                {topic: _only(now.topics.get(topic), TOPIC_THROTTLES) for topic in topics},
            )
        )

    def _alter_brokers(
        self, rates: Mapping[int, Mapping[str, str]], delete: bool = False
    ) -> list[int]:
        """Set the rates of brokers, with ``delete`` also remove those that are not named; returns
        the brokers that accepted: one that dies at this moment does not."""
        done = []
        for broker, own in sorted(rates.items()):
            operations = _operations(own, BROKER_THROTTLES, RATES if delete else ())
            resource = ConfigResource(ConfigResourceType.BROKER, str(broker), operations)
            try:
                alter_configs(self._admin, [resource])
            except kafka_errors.KafkaError:
                continue  # it does not answer; a refusal would be in the response
            done.append(broker)
        return done

    def _alter_topics(self, lists: Mapping[str, Mapping[str, str]], delete: bool = False) -> None:
        """Set the lists of topics, with ``delete`` also remove those that are not named. A topic
        that was deleted and created again keeps its lists: ours went with the old one."""
        known = self._journal.topic_ids
        now = read_topic_ids(self._admin, sorted(lists))
        lists = {
            topic: own
            for topic, own in lists.items()
            if now.get(topic, "") in ("", known.get(topic, now.get(topic)))
        }
        resources = [
            ConfigResource(
                ConfigResourceType.TOPIC,
                topic,
                _operations(own, TOPIC_THROTTLES, TOPIC_THROTTLES if delete else ()),
            )
            for topic, own in sorted(lists.items())
        ]
        for part in chunks(resources, _TOPICS_PER_REQUEST):
            alter_configs(self._admin, list(part))


def alter_configs(admin: KafkaAdminClient, resources: list[ConfigResource]) -> None:
    """Change configurations. Raises PartageError where Kafka refuses, and what kafka-python raises;
    topics that no longer exist are left out."""
    for where, error, result in refusals(admin.alter_configs(resources, raise_on_unknown=False)):
        # a topic that is deleted takes its settings with it
        if issubclass(error, kafka_errors.UnknownTopicOrPartitionError):
            continue
        if issubclass(error, kafka_errors.RetriableError):
            raise error(result)
        if issubclass(error, kafka_errors.AuthorizationError):
            result = f"{describe_error(error('AlterConfigs'))}: grant it and run again"
        raise PartageError(f"{where}: its configuration cannot be changed: {result}")


def refusals(
    response: Mapping[str, Mapping[str, str]],
) -> Iterator[tuple[str, type[BaseException], str]]:
    """The broker or topic, the error class and its text, for each configuration that Kafka did not
    accept, from an answer of ``KafkaAdminClient.alter_configs``."""
    for kind, results in response.items():
        for name, result in results.items():
            if result != "OK":
                yield f"{kind} {name}".strip(), _error(result), result


def _error(text: str) -> type[BaseException]:
    """The error class of kafka-python's text: "[Error 41] NotControllerError: …"."""
    name = re.search(r"\w+Error", text.partition("]")[2])
    found = getattr(kafka_errors, name[0], None) if name else None
    return found if isinstance(found, type) else PartageError


def _replica_lists(changes: Iterable[Change]) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """By topic: existing replicas, and new ones, as ``partition:broker``."""
    senders: dict[str, list[str]] = defaultdict(list)
    receivers: dict[str, list[str]] = defaultdict(list)
    for change in changes:
        senders[change.topic] += [f"{change.partition}:{broker}" for broker in change.origin]
        receivers[change.topic] += [f"{change.partition}:{broker}" for broker in change.adding]
    return senders, receivers


def _merged(before: str | None, ours: list[str]) -> str:
    if before == _ALL_REPLICAS:
        return _ALL_REPLICAS
    theirs = before.split(",") if before else []
    merged = ",".join(dict.fromkeys([*theirs, *ours]))
    # too long: all replicas of the topic instead, since in-sync followers are never slowed down
    return merged if len(merged) <= _LONGEST_VALUE else _ALL_REPLICAS


def _differs(now: Mapping[str, str] | None, wanted: Mapping[str, str]) -> bool:
    return any((now or {}).get(name) != value for name, value in wanted.items())


def _only(own: Mapping[str, str] | None, names: Iterable[str]) -> dict[str, str]:
    return {name: own[name] for name in names if own and name in own}


def _operations(
    own: Mapping[str, str], names: Iterable[str], removed: Iterable[str]
) -> dict[str, tuple[str, str | None]]:
    """What sets those of ``own`` that are ``names``, and unsets empty rates, and those ``removed``
    that are not there; a list of replicas may be set to an empty one. A journal may be forged:
    nothing else is set."""
    found: dict[str, tuple[str, str | None]] = {
        name: ("SET", own[name]) if own[name] or name in TOPIC_THROTTLES else ("DELETE", None)
        for name in names
        if name in own
    }
    return found | {name: ("DELETE", None) for name in removed if name not in own}
