"""What was asked: the options of ``plan``, checked on their own.

Whatever can be refused without a cluster is refused here, once; ``brokers.problem`` then resolves
the options against one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

from partage.cluster.reassignment import Reassignment
from partage.errors import InputError

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "p": 10**15}
_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,6})?)\s*([kmgtp]?)(i?)b?(?:/s)?", re.ASCII | re.IGNORECASE)
_PERCENT = re.compile(r"(\d{1,3}(?:\.\d{1,4})?) ?%", re.ASCII)
_BYTES_TOLERANCE = Fraction(2, 100)

BUDGET = ("relieve", "max_moves", "max_bytes_moved", "tolerance")
"""The options that give up balance to move less."""

GIVEN = "given"
"""The strategy that decides nothing: the lists are those of ``reassignment``, which implies it."""

_MOST = 2**31 - 1
"""Of what is counted by an option."""


@dataclass(frozen=True)
class Limits:
    """What may be given up, and how much may be moved; None: no limit. ``tolerance`` is a fraction
    of the fair share."""

    tolerance: Fraction
    moves: int | None
    bytes: int | None

    @property
    def any(self) -> bool:
        return bool(self.tolerance) or self.moves is not None or self.bytes is not None


@dataclass(frozen=True)
class Options:
    """What ``plan`` was asked, in the spelling of the command line. Sequences hold its words."""

    add_broker: tuple[str, ...] = ()
    remove_broker: tuple[str, ...] = ()
    replace_broker: tuple[str, ...] = ()
    replication_factor: tuple[str, ...] = ()
    topics: str | None = None
    strategy: str = "exact"
    reassignment: Reassignment | None = None
    no_moves: bool = False
    balance: str = "replicas"
    leaders: str = "count"
    spread: str = "cluster"
    relieve: str | None = None
    max_moves: int | None = None
    max_bytes_moved: str | None = None
    tolerance: str | None = None
    concurrency: int = 2
    batch: int | None = None
    throttle: str | None = None

    @classmethod
    def of(cls, **given: Any) -> Options:
        """Options out of keyword arguments: a word, a number or a sequence of them each;
        ``reassignment``: a file's path, JSON values or a Reassignment."""
        known = {f.name: f for f in fields(cls)}
        values: dict[str, Any] = {}
        for name, value in given.items():
            if name not in known:
                raise InputError("plan", f"no option {name!r}: expected one of {', '.join(known)}")
            if value is None:
                continue
            if isinstance(known[name].default, tuple):
                several = [value] if isinstance(value, (str, int)) else value
                if not isinstance(several, Iterable):
                    raise InputError(spelled(name), f"{value!r}: expected a word, or several")
                value = tuple(str(word) for word in several)
            values[name] = Reassignment.of(value) if name == "reassignment" else value
        if "reassignment" in values:
            values.setdefault("strategy", GIVEN)
        return cls(**values).checked()

    def checked(self) -> Options:
        """Self, or InputError where a value is not one of those that there are."""
        for name in ("topics", "strategy", "throttle", "relieve", "max_bytes_moved", "tolerance"):
            value = getattr(self, name)
            if value is not None and type(value) is not str:
                raise InputError(spelled(name), f"{value!r}: expected text")
        if self.reassignment is not None and self.strategy != GIVEN:
            raise InputError(
                "--reassignment", f"has decided already: leave out --strategy {self.strategy}"
            )
        if self.reassignment is None and self.strategy == GIVEN:
            raise InputError(f"--strategy {GIVEN}", "carries lists out: expected --reassignment")
        if type(self.no_moves) is not bool:
            raise InputError("--no-moves", f"{self.no_moves!r}: expected true or false")
        for name, allowed in (
            ("balance", ("replicas", "bytes")),
            ("leaders", ("count", "rate")),
            ("spread", ("cluster", "topic")),
        ):
            if getattr(self, name) not in allowed:
                raise InputError(
                    f"--{name}", f"{getattr(self, name)!r}: expected {' or '.join(allowed)}"
                )
        check_count(self.concurrency, "--concurrency")
        if self.batch is not None:
            check_count(self.batch, "--batch")
        if self.throttle is not None:
            parse_bytes(self.throttle, "--throttle")
        self._check_budget()
        return self

    def _check_budget(self) -> None:
        if self.max_moves is not None and (type(self.max_moves) is not int or self.max_moves < 0):
            raise InputError("--max-moves", f"{self.max_moves!r}: expected a number from 0")
        if self.max_bytes_moved is not None:
            parse_bytes(self.max_bytes_moved, "--max-bytes-moved")
        for name in ("tolerance", "relieve"):
            if getattr(self, name) is not None:
                parse_percent(getattr(self, name), spelled(name))
        if self.relieve is not None and not 0 < self.relief <= 1:
            raise InputError("--relieve", f"{self.relieve!r}: expected above 0% and up to 100%")
        asked = [name for name in BUDGET if getattr(self, name) is not None]
        if self.no_moves and (asked or self.balance == "bytes"):
            idle = spelled(asked[0]) if asked else "--balance bytes"
            raise InputError("--no-moves", f"leaves nothing for {idle} to do")
        if self.relieve is not None and (self.balance == "bytes" or self.tolerance is not None):
            other = "--balance bytes" if self.balance == "bytes" else "--tolerance"
            raise InputError("--relieve", f"only empties full disks: {other} asks for balance")
        if self.spread == "topic" and (asked or self.balance == "bytes"):
            other = spelled(asked[0]) if asked else "--balance bytes"
            raise InputError("--spread topic", f"cannot be combined with {other}")

    @property
    def relief(self) -> Fraction:
        """The part of a disk that ``relieve`` allows to be full."""
        assert self.relieve is not None
        return parse_percent(self.relieve, "--relieve")

    @property
    def by_size(self) -> bool:
        """Whether bytes are shared out, not replicas."""
        return self.balance == "bytes" or self.relieve is not None

    @property
    def limits(self) -> Limits:
        """The tolerance, and how much may be moved."""
        usual = _BYTES_TOLERANCE if self.balance == "bytes" else Fraction(0)
        limit = self.max_bytes_moved
        return Limits(
            usual if self.tolerance is None else parse_percent(self.tolerance, "--tolerance"),
            self.max_moves,
            None if limit is None else parse_bytes(limit, "--max-bytes-moved"),
        )

    def given(self) -> dict[str, Any]:
        """Only what differs from the defaults, as JSON values; of a reassignment its name."""

        def plain(value: Any) -> Any:
            if isinstance(value, Reassignment):
                return value.name
            return list(value) if isinstance(value, tuple) else value

        return {
            f.name: plain(value)
            for f in fields(self)
            if (value := getattr(self, f.name)) != f.default
        }


def spelled(name: str) -> str:
    """The option as the command line spells it."""
    return f"--{name.replace('_', '-')}"


def parse_bytes(text: str, option: str) -> int:
    """``50MB``, ``1.5 GiB``, ``1000``: bytes. Decimal units unless they have an i."""
    match = _SIZE.fullmatch(text.strip())
    if not match:
        raise InputError(option, f"{text!r} is no size, expected for instance 50MB or 2GiB")
    number, unit, binary = match[1], match[2].lower(), bool(match[3])
    factor = _UNITS[unit]
    if binary:
        factor = 1024 ** (len(str(factor)) // 3)
    value = int(Fraction(number) * factor)
    if value <= 0:
        raise InputError(option, f"{text!r}: must be above 0")
    return value


def parse_percent(text: str, option: str) -> Fraction:
    """``2%``, ``12.5 %``: the fraction."""
    match = _PERCENT.fullmatch(text.strip())
    if not match:
        raise InputError(option, f"{text!r} is no percentage, expected for instance 2%")
    return Fraction(match[1]) / 100


def check_count(number: object, option: str) -> None:
    """Raise InputError for anything but a whole number from 1 that arrays can hold."""
    if type(number) is not int or not 1 <= number <= _MOST:
        raise InputError(option, f"{number}: expected a number from 1 to {_MOST}")
