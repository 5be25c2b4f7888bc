"""The options of ``plan``, each declared once.

A declaration in ``PlanOptions`` is the option on the command line, in ``partage.toml`` and in
``PARTAGE_*``, the keyword of ``partage.plan``, and the key below ``options`` of plan.json. Values
are read when they are assigned; whatever can be refused without a cluster is refused here.
``brokers.problem`` resolves the options against a cluster.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from partage.brokers.declaration import (
    COMPARE,
    FAIRNESS,
    LIMITS,
    PLAN,
    WAVES,
    WHAT_CHANGES,
    Choice,
    Option,
    flag_of,
    pattern_of,
    several,
    text_of,
)
from partage.brokers.option_values import (
    LOAD_TOLERANCE,
    OF_LEADERS,
    BrokerSet,
    LeaderRacks,
    LogDirOfBroker,
    NewBroker,
    Percentages,
    Replacement,
    ReplicationFactor,
    broker_id,
    percentages_of,
    relief_of,
)
from partage.errors import InputError
from partage.units import Bytes, Duration, Percent, Rate, count_of

if TYPE_CHECKING:
    from partage.cluster.reassignment import Reassignment

Path: TypeAlias = str | os.PathLike[str]
BrokerWord: TypeAlias = str | int
NewBrokerWord: TypeAlias = str | int | tuple[int, str]
Pair: TypeAlias = str | tuple[int, int]
LogDirWord: TypeAlias = str | tuple[int, str]
Factor: TypeAlias = int | str
Racks: TypeAlias = str | tuple[str, Sequence[str]]

EXACT = "exact"
GIVEN = "given"
"""The strategy that decides nothing: the lists are those of ``reassignment``, which implies it."""

BUDGET = ("relieve", "max_moves", "max_bytes_moved", "tolerance")
"""The options that give up balance to move less."""

_INSTEAD_WITH_LOAD = {
    "leaders": "give a small `tolerance` of leader_in, such as leader_in=2%",
    "spread": "leave it out, or leave out `balance`",
    "relieve": "give a small `tolerance` of disk and large ones of the others",
    "max_moves": "to move less, give a larger `tolerance`",
    "max_bytes_moved": "to move less, give a larger `tolerance`",
}
"""What to use instead of an option that ``balance`` load leaves no choice for."""

_BYTES_TOLERANCE = Fraction(2, 100)


def _reassignment(given: Any) -> Reassignment:
    from partage.cluster.reassignment import Reassignment

    return Reassignment.of(given)


class Limits(NamedTuple):
    """What may be given up, and how much may be moved; None: no limit. ``tolerance`` is a fraction
    of the fair share."""

    tolerance: Fraction
    moves: int | None
    bytes: int | None

    @property
    def any(self) -> bool:
        return bool(self.tolerance) or self.moves is not None or self.bytes is not None


@dataclass(frozen=True, kw_only=True, repr=False)
class PlanOptions:
    """What ``plan`` is asked for. Each keyword takes the command line's text, or the Python value
    that stands for it; None is the default."""

    add_broker: Option[NewBrokerWord | Sequence[NewBrokerWord], tuple[NewBroker, ...]] = Option(
        several(NewBroker.of, pair=(int, str), commas=True),
        (),
        multiple=True,
        metavar="ID:RACK,…",
        help="Add empty brokers, with the capacity and disk that most brokers have.",
        panel=WHAT_CHANGES,
    )
    remove_broker: Option[BrokerWord | Sequence[BrokerWord], tuple[int, ...]] = Option(
        several(broker_id, commas=True),
        (),
        multiple=True,
        metavar="ID,…",
        help="Move all replicas off these brokers.",
        panel=WHAT_CHANGES,
    )
    replace_broker: Option[Pair | Mapping[int, int] | Sequence[Pair], tuple[Replacement, ...]] = (
        Option(
            several(Replacement.of, pair=(int, int), commas=True),
            (),
            multiple=True,
            metavar="OLD=NEW,…",
            help="Move all replicas off OLD; add NEW in its rack unless it is listed.",
            panel=WHAT_CHANGES,
        )
    )
    remove_log_dir: Option[LogDirWord | Sequence[LogDirWord], tuple[LogDirOfBroker, ...]] = Option(
        several(LogDirOfBroker.of, pair=(int, str)),
        (),
        multiple=True,
        metavar="ID:PATH",
        help="Move all replicas out of this log dir, to others of its broker.",
        panel=WHAT_CHANGES,
        commands=(PLAN, COMPARE),
    )
    replication_factor: Option[
        Factor | Mapping[str, int] | Sequence[Factor], tuple[ReplicationFactor, ...]
    ] = Option(
        several(ReplicationFactor.of, pair=(str, int)),
        (),
        multiple=True,
        metavar="N|TOPIC=N",
        help="Raise or lower the replication factor of all topics, or of one; lowering it deletes "
        "replicas.",
        panel=WHAT_CHANGES,
    )
    topics: Option[str | re.Pattern[str], re.Pattern[str] | None] = Option(
        pattern_of,
        None,
        metavar="REGEX",
        help="Change only topics whose whole name matches.",
        panel=WHAT_CHANGES,
    )
    broker_set: Option[str | Sequence[int], BrokerSet | None] = Option(
        BrokerSet.of,
        None,
        metavar="ID,…",
        help="Keep the topics that may change on these brokers alone; others keep what they have "
        "of topics that may not.",
        panel=WHAT_CHANGES,
        commands=(PLAN, COMPARE),
    )
    strategy: Option[str, str] = Option(
        text_of,
        "",
        usual=EXACT,
        metavar="NAME",
        help="Decide by this strategy.",
        panel=FAIRNESS,
        commands=(PLAN,),
    )
    reassignment: Option[Reassignment | Path | Mapping[str, Any], Reassignment | None] = Option(
        _reassignment,
        None,
        metavar="FILE",
        help="Use the replica lists of another tool's reassignment JSON.",
        panel=WHAT_CHANGES,
    )
    no_moves: Option[bool, bool] = Option(
        flag_of,
        False,
        help="Move no replica to another broker: change only leaders and the order of replicas.",
        panel=WHAT_CHANGES,
    )
    balance: Option[Literal["replicas", "bytes", "load"], str] = Choice(
        "replicas",
        "bytes",
        "load",
        help="Balance replica counts, bytes, or every load of a broker at once.",
        panel=FAIRNESS,
    )
    leaders: Option[Literal["count", "rate"], str] = Choice(
        "count",
        "rate",
        help="Balance leaders by count or by bytes in per second: those of `profile`, or else of "
        "the cluster file.",
        panel=FAIRNESS,
    )
    leader_racks: Option[
        Racks | Mapping[str, str | Sequence[str]] | Sequence[Racks], tuple[LeaderRacks, ...]
    ] = Option(
        several(LeaderRacks.of, pair=(str, tuple)),
        (),
        multiple=True,
        metavar="TOPIC=RACKS",
        help="Leaders of this topic only in these racks, for instance orders=a,b; without a topic: "
        "leaders of all topics.",
        panel=FAIRNESS,
        commands=(PLAN, COMPARE),
    )
    demote_broker: Option[BrokerWord | Sequence[BrokerWord], tuple[int, ...]] = Option(
        several(broker_id, commas=True),
        (),
        multiple=True,
        metavar="ID,…",
        help="Lead nothing on these brokers that another can lead, and list them last.",
        panel=FAIRNESS,
        commands=(PLAN, COMPARE),
    )
    prefer_zone: Option[bool, bool] = Option(
        flag_of,
        False,
        help="Among orders of replicas that are as fair, lead where the fewest bytes cross racks.",
        panel=FAIRNESS,
        commands=(PLAN, COMPARE),
    )
    spread: Option[Literal["cluster", "topic"], str] = Choice(
        "cluster",
        "topic",
        help="Balance the cluster first, or each topic.",
        panel=FAIRNESS,
        commands=(PLAN, COMPARE),
    )
    balance_disks: Option[bool, bool] = Option(
        flag_of,
        False,
        help="Fill the log dirs of each broker evenly, within the tolerance (5% unless given), "
        "with the fewest bytes copied between them.",
        panel=FAIRNESS,
        commands=(PLAN, COMPARE),
    )
    relieve: Option[
        str | float | Fraction | Mapping[str, str | float], Percent | Percentages | None
    ] = Option(
        relief_of,
        None,
        metavar="PERCENT",
        help="Move replicas only off disks fuller than this, for instance 80%, with the fewest "
        "bytes moved; leaders are balanced in any case. `out=80%,in=90%`: other loads, in % of the "
        "network capacity or of the fair share, without balancing leaders.",
        panel=LIMITS,
        commands=(PLAN, COMPARE),
    )
    max_moves: Option[str | int, int | None] = Option(
        lambda given: count_of(given, least=0),
        None,
        metavar="N",
        help="Move at most N replicas.",
        panel=LIMITS,
        commands=(PLAN, COMPARE),
    )
    max_bytes_moved: Option[str | float, Bytes | None] = Option(
        Bytes.of,
        None,
        metavar="SIZE",
        help="Move at most this many bytes, for instance 2TB.",
        panel=LIMITS,
        commands=(PLAN, COMPARE),
    )
    time_limit: Option[str | int, Duration | None] = Option(
        Duration.of,
        None,
        metavar="TIME",
        help="End the search of `--balance load` after this time, for instance 60s, with the best "
        "plan so far.",
        panel=LIMITS,
        commands=(PLAN, COMPARE),
    )
    tolerance: Option[
        str | float | Fraction | Mapping[str, str | float], Percent | Percentages | None
    ] = Option(
        percentages_of,
        None,
        metavar="PERCENT",
        help="Accept loads this far from the fair share, for instance 2%, to move less; "
        "with `--balance load` also `replicas=2%,out=10%`.",
        panel=LIMITS,
        commands=(PLAN, COMPARE),
    )
    concurrency: Option[str | int, int] = Option(
        count_of,
        2,
        metavar="N",
        help="Let a broker fetch or send at most N replicas at a time.",
        panel=WAVES,
        commands=(PLAN, COMPARE),
    )
    batch: Option[str | int, int | None] = Option(
        count_of,
        None,
        metavar="N",
        help="Reassign at most N partitions at a time.",
        panel=WAVES,
        commands=(PLAN, COMPARE),
    )
    throttle: Option[str | float, Rate | None] = Option(
        Rate.of,
        None,
        metavar="RATE",
        help="Estimate the time of waves at this rate, for instance 50MB.",
        panel=WAVES,
        commands=(PLAN, COMPARE),
    )

    def __post_init__(self) -> None:
        if not self.strategy:
            vars(self)["strategy"] = EXACT if self.reassignment is None else GIVEN
        self._check_reassignment()
        self._check_no_moves()
        self._check_balance()
        self._check_load()

    def _check_reassignment(self) -> None:
        if self.reassignment is not None and self.strategy != GIVEN:
            raise InputError(
                "reassignment", f"the lists decide: leave out `strategy` {self.strategy}"
            )

    def _check_no_moves(self) -> None:
        if not self.no_moves:
            return
        if self.replication_factor:
            raise InputError(
                "no_moves",
                "cannot be combined with `replication_factor`: to lower it without a move, give "
                "`max_moves` 0 instead",
            )
        for name in ("remove_broker", "replace_broker", "broker_set"):
            if getattr(self, name):
                raise InputError("no_moves", f"forbids the moves that `{name}` needs")
        used = ["relieve", "tolerance"] if self.by_load else []
        used += ["tolerance"] if self.balance_disks else []
        limits = [name for name in self._budget if name not in used]
        if self.relieved and not any(name in OF_LEADERS for name, _ in self.relieved):
            limits.append("relieve")
        idle = next((f"`{name}`" for name in limits), None)
        if self.balance == "bytes":
            idle = idle or "`balance` bytes"
        if idle is not None:
            raise InputError("no_moves", f"leaves nothing for {idle} to do")

    def _check_balance(self) -> None:
        by_bytes = "`balance` bytes" if self.balance == "bytes" else None
        if self.relieve is not None:
            other = by_bytes or ("`tolerance`" if self.tolerance is not None else None)
            if other is not None:
                raise InputError("relieve", f"only keeps limits: {other} asks for balance")
        if self.spread == "topic":
            other = next((f"`{name}`" for name in self._budget), by_bytes)
            if other is not None:
                raise InputError("spread topic", f"cannot be combined with {other}")

    def _check_load(self) -> None:
        for name in ("leader_racks", "demote_broker"):
            if getattr(self, name) and self.by_load:
                asked = "balance load" if self.balance == "load" else "relieve"
                raise InputError(asked, f"chooses leaders itself: leave out `{name}`")
        if self.prefer_zone and self.leaders_by_search:
            asked = "leaders rate" if self.leaders == "rate" else "balance load"
            asked = "relieve" if self.relieved else asked
            raise InputError(asked, "chooses leaders itself: leave out `prefer_zone`")
        if self.relieved and self.leaders != "count":
            raise InputError("relieve", "changes as few leaders as it can: leave out `leaders`")
        if self.balance != "load":
            if isinstance(self.tolerance, Percentages):
                raise InputError(f"tolerance {self.tolerance}", "needs `balance` load")
            if self.time_limit is not None:
                raise InputError(f"time_limit {self.time_limit}", "needs `balance` load")
            return
        for name, instead in _INSTEAD_WITH_LOAD.items():
            if getattr(self, name) not in (None, "count", "cluster"):
                raise InputError("balance load", f"cannot be combined with `{name}`: {instead}")

    @property
    def _budget(self) -> list[str]:
        """The names of the limits given."""
        return [name for name in BUDGET if getattr(self, name) is not None]

    @property
    def by_size(self) -> bool:
        """Whether bytes are balanced or disks relieved, not replicas counted."""
        return self.balance == "bytes" or isinstance(self.relieve, Percent)

    @property
    def by_load(self) -> bool:
        """Whether every load of a broker is kept in a band: balanced, or below a limit."""
        return self.balance == "load" or bool(self.relieved)

    @property
    def counts_loads(self) -> bool:
        """Whether rates are needed; where none is known, sizes stand for them."""
        return self.by_load or self.prefer_zone

    @property
    def relieved(self) -> Percentages:
        """The limits of loads to keep; none where disks alone are relieved."""
        return self.relieve if isinstance(self.relieve, Percentages) else Percentages()

    @property
    def within_brokers(self) -> bool:
        """Whether replicas that stay on their broker may change their log dir."""
        return self.balance_disks or bool(self.remove_log_dir)

    @property
    def leaders_by_search(self) -> bool:
        """Whether a search has decided the leaders, so that only first followers are open."""
        return self.leaders == "rate" or self.by_load

    def load_tolerance(self, resource: str) -> Fraction:
        """The tolerance of a resource where every load is balanced."""
        if isinstance(self.tolerance, Percentages):
            return dict(self.tolerance).get(resource, LOAD_TOLERANCE)
        return LOAD_TOLERANCE if self.tolerance is None else self.tolerance

    @property
    def limits(self) -> Limits:
        """The tolerance, and how much may be moved."""
        if self.balance == "load":
            return Limits(Fraction(0), None, None)
        usual = _BYTES_TOLERANCE if self.balance == "bytes" else Fraction(0)
        tolerance = self.tolerance if isinstance(self.tolerance, Percent) else usual
        return Limits(tolerance, self.max_moves, self.max_bytes_moved)

    def given(self) -> dict[str, Any]:
        """Only what differs from the defaults, as JSON values; of a reassignment its name."""
        return {
            one.name: _plain(value)
            for one in declared()
            if (value := getattr(self, one.name)) != one.usual
        }

    def __repr__(self) -> str:
        return f"PlanOptions({', '.join(f'{k}={v!r}' for k, v in self.given().items())})"


def declared(command: str | None = None) -> list[Option[Any, Any]]:
    """The declarations, in order; of those that a command has."""
    options = [one for one in vars(PlanOptions).values() if isinstance(one, Option)]
    return [one for one in options if command is None or command in one.commands]


def _plain(value: Any) -> Any:
    """A value as JSON: a number, a flag, or text that reads as the same value."""
    if isinstance(value, re.Pattern):
        return value.pattern
    if type(value) is tuple:
        return [str(one) for one in value]
    return value if type(value) in (int, bool, str) else str(value)
