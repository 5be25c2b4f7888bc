"""The options in plan.json, parsed and combined as the planner must, without its parser.

What needs no cluster is refused here; ``options.py`` compares the rest with the brokers and
partitions. Sizes and percentages are exact numbers.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from msgspec import Struct

from partage.brokers.check.schema import MalformedError
from partage.brokers.directory import MARKER
from partage.patterns import compile_pattern, matcher

_WEEK = 7 * 86_400
_MAX_COUNT, _MAX_BYTES = 2**31 - 1, 2**60
_LIMITS = ("relieve", "max_moves", "max_bytes_moved", "tolerance")
_NEED_MOVES = ("remove_broker", "replace_broker", "replication_factor", "broker_set")
_CHOICES = {
    "balance": ("replicas", "bytes", "load"),
    "leaders": ("count", "rate"),
    "spread": ("cluster", "topic"),
}
_BYTES_TOLERANCE = Fraction(2, 100)
LOAD_TOLERANCE = Fraction(5, 100)
OF_REPLICAS = ("replicas", "disk", "in")
OF_LEADERS = ("leaders", "out", "leader_in")
RESOURCES = ("replicas", "leaders", "disk", "in", "out", "leader_in")
_EXACT, _GIVEN = "exact", "given"
_BALANCE_BYTES = (_EXACT, "bin-packing", _GIVEN)
"""The strategies that balance bytes."""


class Asked(Struct, frozen=True, kw_only=True):
    """What the options ask for.

    - ``added``: rack of each broker to add, by id; ``removed``: ids; ``replaced``: new id by old
    - ``removed_log_dirs``: broker ids and paths; ``balance_disks``: within ``log_dir_tolerance``
    - ``factors``: replication factor by topic, the general one under None
    - ``topics``: whether a topic's name matches; ``broker_set``: ids, empty for all brokers
    - ``leader_racks``: racks that may lead a topic, those of all topics under None
    - ``demoted``: ids of brokers that lead only what no other can lead
    - ``tolerances``: by resource, where every load is balanced
    - ``timed``: whether the search has a time limit
    - ``relieved``: by resource, the limit of a load as a part of a capacity or a fair share
    - ``tolerance``, ``relieve`` (of disks alone): as fractions
    - ``max_bytes``, ``throttle``: in bytes
    """

    strategy: str
    added: dict[int, str | None]
    removed: tuple[int, ...]
    replaced: dict[int, int]
    removed_log_dirs: tuple[tuple[int, str], ...]
    factors: dict[str | None, int]
    topics: Callable[[str], bool]
    no_moves: bool
    broker_set: tuple[int, ...]
    leader_racks: dict[str | None, tuple[str, ...]]
    demoted: tuple[int, ...]
    prefer_zone: bool
    balance: str
    leaders: str
    spread: str
    balance_disks: bool
    log_dir_tolerance: Fraction
    relieve: Fraction | None
    relieved: dict[str, Fraction]
    max_moves: int | None
    max_bytes: int | None
    tolerance: Fraction
    tolerances: dict[str, Fraction]
    timed: bool
    concurrency: int
    batch: int | None
    throttle: int | None

    @classmethod
    def of(cls, options: dict[str, Any]) -> Asked:
        """The options of plan.json. Raises MalformedError for those that the planner refuses."""
        words = _Words(options)
        balance = words.choice("balance")
        usual = _BYTES_TOLERANCE if balance == "bytes" else Fraction(0)
        found: Fraction | None = None
        tolerances: dict[str, Fraction] = {}
        if balance == "load":
            tolerances = words.one("tolerance", _tolerances) or {}
        else:
            found = words.one("tolerance", _fraction)
        relieved = words.one("relieve", _relief) or {}
        asked = cls(
            strategy=options.get("strategy", _EXACT),
            added=words.mapping("add_broker", _new_broker),
            removed=tuple(words.several("remove_broker", _broker)),
            replaced=words.mapping("replace_broker", _replacement),
            removed_log_dirs=tuple(words.several("remove_log_dir", _log_dir)),
            factors=words.mapping("replication_factor", _factor),
            topics=words.one("topics", _pattern) or (lambda topic: True),
            no_moves=options.get("no_moves", False),
            broker_set=words.one("broker_set", _brokers) or (),
            leader_racks=words.mapping("leader_racks", _leader_racks),
            demoted=tuple(words.several("demote_broker", _broker)),
            prefer_zone=options.get("prefer_zone", False),
            balance=balance,
            leaders=words.choice("leaders"),
            spread=words.choice("spread"),
            balance_disks=options.get("balance_disks", False),
            log_dir_tolerance=tolerances.get("disk", LOAD_TOLERANCE if found is None else found),
            relieve=relieved.pop("disk") if set(relieved) == {"disk"} else None,
            relieved=relieved,
            max_moves=words.one("max_moves", lambda n: _counted(n, 0)),
            max_bytes=words.one("max_bytes_moved", lambda text: _bytes(text, rate=False)),
            tolerance=usual if found is None else found,
            tolerances=tolerances,
            timed=words.one("time_limit", _seconds) is not None,
            concurrency=words.one("concurrency", _counted) or 2,
            batch=words.one("batch", _counted),
            throttle=words.one("throttle", lambda text: _bytes(text, rate=True)),
        )
        asked._check_combinations(options)
        return asked

    @property
    def by_size(self) -> bool:
        """Whether bytes are balanced or disks relieved, not replicas counted."""
        return self.balance == "bytes" or self.relieve is not None

    @property
    def by_load(self) -> bool:
        """Whether every load of a broker is kept in a band: balanced, or below a limit."""
        return self.balance == "load" or bool(self.relieved)

    @property
    def relieves(self) -> bool:
        """Whether disks or other loads are only brought below limits."""
        return self.relieve is not None or bool(self.relieved)

    @property
    def leaders_by_search(self) -> bool:
        """Whether the leaders are those that a search chose."""
        return self.leaders == "rate" or self.by_load

    def load_tolerance(self, resource: str) -> Fraction:
        """The tolerance of a resource where every load is balanced."""
        return self.tolerances.get(resource, LOAD_TOLERANCE)

    @property
    def exact(self) -> bool:
        """Whether the plan claims to be the best there is."""
        return self.strategy == _EXACT

    @property
    def given(self) -> bool:
        """Whether the replica lists are another tool's."""
        return self.strategy == _GIVEN

    @property
    def moves_log_dirs(self) -> bool:
        """Whether replicas may change their log dir on their broker."""
        return self.balance_disks or bool(self.removed_log_dirs)

    @property
    def limited(self) -> bool:
        """Whether replica counts may give up balance to move less."""
        limits = (self.max_moves, self.max_bytes)
        return not (self.by_size or self.relieved or self.no_moves) and (
            self.tolerance > 0 or limits != (None, None)
        )

    def may_change(self, topic: str) -> bool:
        """Whether the partitions of a topic may change."""
        return self.topics(topic)

    def _check_combinations(self, options: dict[str, Any]) -> None:
        limits = [name for name in _LIMITS if name in options]
        by_bytes = ["balance"] if self.balance == "bytes" else []
        moves = [name for name in _NEED_MOVES if options.get(name)]
        balances = self.balance == "load"
        by_load = ["balance"] if balances else []
        of_leaders = [name for name in ("leader_racks", "demote_broker") if options.get(name)]
        load_limits = [name for name in limits if name != "tolerance"]
        led = any(name in OF_LEADERS for name in self.relieved)
        kept = {"tolerance"} if balances else {"relieve"} if led else set()
        kept |= {"tolerance"} if self.balance_disks else set()
        other_limits = [name for name in limits if name not in kept]
        others = [name for name in ("leaders", "spread") if options.get(name)]
        tolerance = [name for name in limits if name == "tolerance"]
        forbidden = (
            (self.no_moves, "no_moves", [*moves, *other_limits, *by_bytes]),
            (self.relieves, "relieve", [*by_bytes, *tolerance]),
            (bool(self.relieved), "relieve", ["leaders"] if self.leaders == "rate" else []),
            (self.spread == "topic", "spread", [*limits, *by_bytes]),
            (not self.exact, "strategy", limits),
            (self.strategy not in _BALANCE_BYTES, "strategy", by_bytes),
            (not self.exact, "strategy", by_load),
            (not self.exact or self.by_load, "strategy or balance", of_leaders),
            (
                not self.exact or self.leaders_by_search,
                "strategy, leaders or balance",
                ["prefer_zone"] if self.prefer_zone else [],
            ),
            (self.timed and not balances, "balance replicas", ["time_limit"]),
            (balances, "balance", [*load_limits, *others]),
        )
        for asked, name, others in forbidden:
            if asked and others:
                problem = f"cannot be combined with {name}"
                raise MalformedError(f"{MARKER}: options.{others[0]}: {problem}")
        if self.given is not ("reassignment" in options):
            raise MalformedError(f"{MARKER}: options.reassignment: goes with strategy {_GIVEN}")


class _Words:
    """The options as text and numbers, read one by one. Raises MalformedError."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options

    def one(self, name: str, read: Callable[[Any], Any]) -> Any:
        """The value of an option, or None where it is not given."""
        return self._read(name, self.options[name], read) if name in self.options else None

    def several(self, name: str, read: Callable[[Any], Any]) -> list[Any]:
        """The values of an option that may be repeated; none of them twice."""
        values = [self._read(name, word, read) for word in self.options.get(name, [])]
        if len(set(values)) < len(values):
            raise MalformedError(f"{MARKER}: options.{name}: a value is given twice")
        return values

    def mapping(self, name: str, read: Callable[[Any], tuple[Any, Any]]) -> dict[Any, Any]:
        """The pairs of an option that may be repeated, none of them with the same key."""
        pairs = self.several(name, read)
        found = dict(pairs)
        if len(found) < len(pairs):
            raise MalformedError(f"{MARKER}: options.{name}: a value is given twice")
        return found

    def choice(self, name: str) -> str:
        """One of the words of a choice, the first where none is given."""
        words = _CHOICES[name]
        found: str = self.options.get(name, words[0])
        if found not in words:
            raise _refused(name, found)
        return found

    @staticmethod
    def _read(name: str, word: Any, read: Callable[[Any], Any]) -> Any:
        try:
            return read(word)
        except (ValueError, OverflowError):
            raise _refused(name, word) from None


def _refused(name: str, word: Any) -> MalformedError:
    return MalformedError(f"{MARKER}: options.{name}: {word!r} is refused by the planner")


def _matched(pattern: str, text: str) -> re.Match[str]:
    match = re.fullmatch(pattern, text.strip(), re.ASCII | re.IGNORECASE)
    if match is None:
        raise ValueError
    return match


def _fraction(text: str) -> Fraction:
    """``2%`` as 1/50: up to three digits before the point, up to four after it."""
    return Fraction(_matched(r"([0-9]{1,3}(\.[0-9]{1,4})?) ?%", text)[1]) / 100


def _seconds(text: str) -> int:
    """``60s``, at most a week."""
    number = int(_matched(r"([0-9]{1,6})s", text)[1])
    if number > _WEEK:
        raise ValueError
    return _at_least(number, 1)


def _tolerances(text: str) -> dict[str, Fraction]:
    """``2%`` for all resources, or ``replicas=2%,out=10%``."""
    if "=" not in text:
        return dict.fromkeys(RESOURCES, _fraction(text))
    found = {}
    for part in text.split(","):
        name, _, share = part.partition("=")
        if name not in RESOURCES or name in found:
            raise ValueError
        found[name] = _fraction(share)
    return found


def _relief(text: str) -> dict[str, Fraction]:
    """``80%`` of disks, or ``out=80%,in=90%``."""
    found = _tolerances(text) if "=" in text else {"disk": _fraction(text)}
    if min(found.values()) <= 0 or found.get("disk", 0) > 1:
        raise ValueError
    return found


def _bytes(text: str, *, rate: bool) -> int:
    """``2TB``, ``1.5 GiB``: a number and a decimal unit (binary with an i), in whole bytes."""
    match = _matched(r"([0-9]{1,19}(?:\.[0-9]{1,6})?)\s*([kmgtp]?)(i?)b?(/s)?", text)
    if match[4] and not rate:
        raise ValueError
    power = " kmgtp".index(match[2].lower() or " ")
    number = int(Fraction(match[1]) * (1024 if match[3] else 1000) ** power)
    if number > _MAX_BYTES:
        raise ValueError
    return _at_least(number, 1)


def _at_least(number: int, least: int) -> int:
    if number < least:
        raise ValueError
    return number


def _counted(number: int, least: int = 1) -> int:
    if number > _MAX_COUNT:
        raise ValueError
    return _at_least(number, least)


def _number(word: str, least: int) -> int:
    if re.fullmatch(r"[0-9]{1,10}", word) is None:
        raise ValueError
    return _counted(int(word), least)


def _broker(word: str) -> int:
    return _number(word, 0)


def _brokers(word: str) -> tuple[int, ...]:
    """``1,2,3``."""
    found = tuple(map(_broker, word.split(",")))
    if len(set(found)) < len(found):
        raise ValueError
    return found


def _new_broker(word: str) -> tuple[int, str | None]:
    """``9:c`` or ``9``."""
    number, colon, rack = word.partition(":")
    if bool(colon) != bool(rack) or any(unicodedata.category(c) == "Cc" for c in rack):
        raise ValueError
    return _broker(number), rack or None


def _log_dir(word: str) -> tuple[int, str]:
    """``3:/data2``."""
    number, colon, path = word.partition(":")
    if not colon or not path:
        raise ValueError
    return _broker(number), path


def _replacement(word: str) -> tuple[int, int]:
    """``3=9``."""
    old, new = word.split("=")
    return _broker(old), _broker(new)


def _factor(word: str) -> tuple[str | None, int]:
    """``3`` or ``topic=3``."""
    topic, equals, number = word.rpartition("=")
    return topic if equals else None, _number(number, 1)


def _leader_racks(word: str) -> tuple[str | None, tuple[str, ...]]:
    """``topic=a,b`` or ``a,b``."""
    head, equals, tail = word.partition("=")
    racks = tuple((tail if equals else head).split(","))
    if "" in racks or len(set(racks)) < len(racks):
        raise ValueError
    if any(unicodedata.category(c) == "Cc" for rack in racks for c in rack):
        raise ValueError
    return head if equals else None, racks


def _pattern(text: str) -> Callable[[str], bool]:
    return matcher(compile_pattern(text))
