"""From the plan.json document to everything that a reader sees, as arrays and finished sentences.

The terminal and the page show the same ``View``, so they cannot disagree. Nothing here decides:
the document's ``figures`` are taken as they stand, and what they do not hold (one broker's load,
who takes over from whom, who copies to whom) is counted from its replica lists.

Two rules to know:

- *After a failure.* A partition led by the broker that fails is led by the next live replica of its
  list. ``takeover[f, s]`` counts those for every pair, so the leaders of survivor ``s`` are its own
  plus ``takeover[f, s]``; a partition without a live replica left is ``lost``.
- *Movement.* A new replica is fetched from the partition's current leader: the first replica of
  ``before`` on a live broker. Where there is none, the row is "no live source".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from partage.brokers.directory import FORMAT_VERSION
from partage.errors import InputError
from partage.report import units

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

Unit = Literal["count", "bytes", "rate"]
Verdict = Literal["good", "limit", "bad", "none"]


MARKS: dict[Verdict, str] = {"good": "✓", "limit": "◆", "bad": "✗", "none": units.MISSING}
"""A sign for every verdict, so that colour is never its only carrier."""


@dataclass(frozen=True)
class BrokerView:
    """One broker as the plan sees it. ``excluded``: must be empty after; ``added``: new."""

    id: int
    rack: str | None
    capacity: float
    alive: bool
    excluded: bool
    added: bool

    @property
    def usable(self) -> bool:
        """Whether it may hold replicas after the plan."""
        return self.alive and not self.excluded

    @property
    def mark(self) -> str:
        """What is special about it in one word, or nothing."""
        if not self.alive:
            return "dead"
        if self.excluded:
            return "leaves"
        return "new" if self.added else ""


@dataclass(frozen=True, eq=False)
class Load:
    """One quantity per broker: [B] before, [B] after, [B] the fair share of what is after."""

    key: str
    title: str
    unit: Unit
    before: Floats
    after: Floats
    fair: Floats

    def text(self, value: float) -> str:
        """One of its values as people read it."""
        return {"count": units.count, "bytes": units.size, "rate": units.rate}[self.unit](value)

    @property
    def fair_text(self) -> str:
        """The fair share of a usable broker; from–to where capacities differ."""
        shares = self.fair[self.fair > 0]
        if not len(shares):
            return units.MISSING
        show = units.tenth if self.unit == "count" else self.text
        low, high = show(float(shares.min())), show(float(shares.max()))
        return low if low == high else f"{low} – {high}"


@dataclass(frozen=True)
class Criterion:
    """One of the six questions by which partition tools are judged, before and after."""

    key: str
    name: str
    before: str
    after: str
    verdict: Verdict
    note: str


@dataclass(frozen=True)
class Stage:
    """One stage of the certificate: a value, the bound that proves it, and what that means."""

    name: str
    value: str
    bound: str
    proven: bool
    meaning: str


@dataclass(frozen=True)
class Wave:
    """One batch of the execution. ``bytes`` None: sizes are unknown; ``seconds`` None: no throttle
    was given, so no estimate. ``brokers``: positions of those that receive or send, and one
    number of each in the lists after it; None where the file does not tell."""

    file: str
    partitions: int
    moves: int
    bytes: int | None
    seconds: float | None
    brokers: tuple[int, ...] | None = None
    replicas_in: tuple[int, ...] = ()
    replicas_out: tuple[int, ...] = ()
    bytes_in: tuple[int, ...] | None = None
    bytes_out: tuple[int, ...] | None = None


@dataclass(frozen=True)
class RackView:
    """One rack: its usable brokers and what they hold."""

    name: str
    brokers: int
    replicas: tuple[int, int]
    leaders: tuple[int, int]
    bytes: tuple[float, float]


@dataclass(frozen=True, eq=False)
class View:
    """Everything shown of one plan. B brokers (ascending id), T topics, P partitions, R replicas.

    - ``topic``, ``number``: [P] position in ``topics``, Kafka's partition number
    - ``size``: [P] bytes of one replica, NaN where unknown
    - ``before``, ``after``: [P, R] broker positions, preferred leader first, padded with -1
    - ``topic_before``, ``topic_after``: [T, B] replicas
    - ``takeover``: [B, B] after the plan, failed broker × survivor: leaders taken over
    - ``lost``: [B] partitions left without a live replica when that broker fails
    - ``worst_before``, ``worst_after``: [B] most leaders on one survivor, -1 where the broker is
      not there to fail
    - ``move_replicas``, ``move_bytes``: [B + 1, B] current leader (last: no live source) × target
    """

    document: Mapping[str, Any]
    brokers: tuple[BrokerView, ...]
    topics: tuple[str, ...]
    topic: Ints
    number: Ints
    size: Floats
    before: Ints
    after: Ints
    loads: tuple[Load, ...]
    topic_before: Ints
    topic_after: Ints
    takeover: Ints
    lost: Ints
    worst_before: Ints
    worst_after: Ints
    move_replicas: Ints
    move_bytes: Floats
    racks: tuple[RackView, ...]
    waves: tuple[Wave, ...]
    stages: tuple[Stage, ...]

    # ------------------------------------------------------------------ the document's own words

    @property
    def strategy(self) -> str:
        return str(self.document.get("strategy", "exact"))

    @property
    def changes(self) -> bool:
        """False: the plan changes nothing."""
        return bool(self.document.get("changes", True))

    @property
    def figures_before(self) -> Mapping[str, Any]:
        figures: Mapping[str, Any] = self.document.get("figures", {}).get("before") or {}
        return figures

    @property
    def figures(self) -> Mapping[str, Any]:
        """The figures after."""
        figures: Mapping[str, Any] = self.document.get("figures", {}).get("after") or {}
        return figures

    @property
    def moves(self) -> int:
        return int(self.figures.get("moves", self.move_replicas.sum()))

    @property
    def lower_bound(self) -> int:
        """Moves that any plan as fair needs at least."""
        return int(self.figures.get("moves_lower_bound", 0))

    @property
    def bytes_moved(self) -> float:
        return float(self.figures.get("bytes_moved") or self.move_bytes.sum())

    @property
    def bytes_bound(self) -> int | None:
        """Bytes that any plan as even must move; None unless bytes are what is shared out."""
        bound = self.figures.get("bytes_moved_lower_bound")
        return None if bound is None else int(bound)

    @property
    def ideal(self) -> int | None:
        """Proven lower bound on the worst survivor's leaders after one failure."""
        return _failure(self.figures)[1]

    @property
    def binding(self) -> tuple[str, ...]:
        return tuple(map(units.plain, self.document.get("binding") or ()))

    @property
    def gaps(self) -> tuple[tuple[str, str], ...]:
        gaps = self.document.get("gaps") or {}

        def text(name: str) -> str:
            stage = self._stage(name)
            if stage is not None and stage.bound == "0":
                return f"{stage.value}, the bound is 0"
            return units.gap(gaps[name])

        return tuple((str(name).replace("_", " "), text(name)) for name in gaps)

    @property
    def warnings(self) -> tuple[str, ...]:
        given = tuple(map(units.plain, self.document.get("warnings") or ()))
        if self.unknown_sizes and self.load("bytes"):
            blind = units.plural(self.unknown_sizes, "moved partition")
            given += (f"the size of {blind} is not known: counted as 0 bytes",)
        return given

    @property
    def options(self) -> tuple[str, ...]:
        """The options as one would type them: ``--add-broker 7:a``."""
        typed: list[str] = []
        for key, value in (self.document.get("options") or {}).items():
            flag = "--" + str(key).replace("_", "-")
            if value is True:
                typed.append(flag)
            elif isinstance(value, (list, tuple)):
                typed += [f"{flag} {units.plain(item)}" for item in value]
            elif isinstance(value, (str, int, float)) and value is not False:
                typed.append(f"{flag} {value}")
        return tuple(typed)

    # ------------------------------------------------------------------ counted

    @cached_property
    def usable(self) -> Bools:
        """[B]"""
        return np.array([broker.usable for broker in self.brokers], dtype=np.bool_)

    @cached_property
    def changed(self) -> Ints:
        """Rows of the partitions whose replica list changes, in order."""
        return np.flatnonzero((self.before != self.after).any(axis=1))

    @cached_property
    def row_moves(self) -> Ints:
        """[P] replicas that some broker must newly fetch."""
        return np.asarray(_new_replicas(self.before, self.after).sum(axis=1), dtype=np.int64)

    @property
    def unknown_sizes(self) -> int:
        """Partitions that move and whose size is not known: their bytes count as 0."""
        return int((np.isnan(self.size) & (self.row_moves > 0)).sum())

    @property
    def replicas(self) -> int:
        """All replicas after."""
        return int((self.after >= 0).sum())

    def load(self, key: str) -> Load | None:
        """The load of that name (``replicas``, ``leaders``, ``bytes``, ``rate``) if it is known."""
        return next((load for load in self.loads if load.key == key), None)

    @property
    def seconds(self) -> float | None:
        """The waves' times together, None when one of them has none."""
        if not self.waves or any(wave.seconds is None for wave in self.waves):
            return None
        return sum(wave.seconds or 0.0 for wave in self.waves)

    # ------------------------------------------------------------------ said

    @cached_property
    def fewest(self) -> bool:
        """Whether what moves is proven to be the least for a share this even."""
        if self.bytes_bound is not None:
            return int(self.bytes_moved) == self.bytes_bound
        return self.moves == self.lower_bound and not self.short

    @cached_property
    def short(self) -> bool:
        """Whether it is less even than the fairest share, so that the bound on the moves, which is
        that share's, says nothing about it."""
        stage = self._stage("replicas")
        missed = stage is not None and not stage.proven
        return self.bytes_bound is None and (missed or self.moves < self.lower_bound)

    @property
    def fair_moves(self) -> str:
        """The fewest moves of the fairest share."""
        stages = (self.document.get("certificate") or {}).get("stages") or ()
        bounds = [stage.get("bound") or 0 for stage in stages if stage.get("stage") == "moves"]
        return units.count(max([self.lower_bound, *bounds]))

    @property
    def _as_even(self) -> str:
        """The plans among which the moves are the fewest."""
        if self.bytes_bound is not None:
            relieve = (self.document.get("options") or {}).get("relieve")
            return "that relieves the disks" if relieve else "as even"
        budget = self._stage("budget")
        return "as fair" if budget is None or budget.proven else "with these counts"

    @cached_property
    def headline(self) -> str:
        """What the plan does, in one sentence."""
        if not self.changes:
            settled = " The cluster is as the objective wants it." if self._settled else ""
            return f"Nothing to do: the plan changes nothing.{settled}"
        waves = f" in {units.plural(len(self.waves), 'wave')}" if self.waves else ""
        if self.moves == 0:
            return (
                f"No replica moves: {units.plural(len(self.changed), 'partition')} "
                f"{'changes' if len(self.changed) == 1 else 'change'} only "
                f"the order of the replicas{waves}."
            )
        verb = "moves" if self.moves == 1 else "move"
        known = f"{units.size(self.bytes_moved)} to copy" if self.load("bytes") else "sizes unknown"
        proof = f"at least {units.count(self.lower_bound)} are needed"
        if self.bytes_bound is not None:
            least = f"any plan {self._as_even} copies {units.size(self.bytes_bound)} or more"
            least = "proven to be the fewest bytes" if self.fewest else least
            return f"{units.plural(self.moves, 'replica')} {verb}: {known}{waves}, {least}."
        if self.fewest:
            same = " with these counts" if self._as_even == "with these counts" else ""
            proof = f"proven to be the fewest{same}"
        elif self.short:
            proof = f"the fairest share needs {self.fair_moves}"
        return f"{units.plural(self.moves, 'replica')} {verb}, {proof}: {known}{waves}."

    @cached_property
    def effect(self) -> str:
        """What becomes of the cluster, in one sentence; empty for a plan that changes nothing."""
        if not self.changes:
            return ""
        parts: list[str] = []
        for key, noun in (("replicas", "replicas per broker"), ("leaders", "leaders")):
            old = units.span(self.figures_before.get(f"{key}_per_broker"))
            new = units.span(self.figures.get(f"{key}_per_broker"))
            if new != units.MISSING:
                verb = "" if parts and " go from " in parts[0] else "go "
                moved = f"{noun} {verb}from {old} to {new}"
                parts.append(f"{noun} stay {new}" if old == new else moved)
        sentence = ", ".join(parts)
        worst, was = _failure(self.figures)[0], _failure(self.figures_before)[0]
        if worst is not None:
            before = f" (before: {units.count(was)})" if was not in (None, worst) else ""
            ending = f"when any one broker fails, no other leads more than {worst}{before}"
            sentence = f"{sentence}; {ending}" if sentence else ending
        return sentence[:1].upper() + sentence[1:] + "." if sentence else ""

    @property
    def proof(self) -> str:
        """The certificate in one line."""
        if not self.changes:
            return "nothing changes"
        moves, bound = units.plural(self.moves, "move"), units.count(self.lower_bound)
        if self.bytes_bound is not None:
            moves, bound = units.size(self.bytes_moved), units.size(self.bytes_bound)
            if not self.fewest:
                return f"{moves} move, {bound} must: {self._above()}"
        if self.short:
            return f"not the fairest: {moves}, where the fairest share needs {self.fair_moves}"
        if self.moves == 0:
            return "no data moves"
        if self.fewest:
            return f"proven: {moves} is the fewest"
        return f"not proven: {moves}, at least {bound} are needed"

    def _above(self) -> str:
        """How far the bytes moved are above their bound."""
        assert self.bytes_bound is not None
        if not self.bytes_bound:
            return "nothing had to move"
        return units.gap(self.bytes_moved / self.bytes_bound - 1)

    @staticmethod
    def bytes_of(waves: Sequence[Wave]) -> int | None:
        """What several waves copy; None where sizes are unknown."""
        known = [wave.bytes for wave in waves if wave.bytes is not None]
        return sum(known) if len(known) == len(waves) else None

    @property
    def _settled(self) -> bool:
        return bool(self.figures.get("settled"))

    def _stage(self, name: str) -> Stage | None:
        return next((stage for stage in self.stages if stage.name == name), None)

    def _proven(self, name: str) -> bool:
        stage = self._stage(name)
        return stage is not None and stage.proven

    def _weighed(self, what: str) -> str:
        """What the options share instead of counts: bytes of replicas, rates of leaders."""
        options = self.document.get("options") or {}
        if what == "replicas":
            if options.get("relieve"):
                return "disks"
            return "bytes" if options.get("balance") == "bytes" else ""
        return "rate" if options.get("leaders") == "rate" else ""

    @cached_property
    def criteria(self) -> tuple[Criterion, ...]:
        """The field's six criteria with verdicts: storage, racks, movement, leaders, determinism,
        leaders after a failure."""
        old, new = self.figures_before, self.figures
        return (
            self._share("storage", "Storage", "replicas", old, new),
            self._racks(old, new),
            self._movement(),
            self._share("leaders", "Leaders", "leaders", old, new),
            self._deterministic(),
            self._after_failure(old, new),
        )

    def _share(
        self, key: str, name: str, what: str, old: Mapping[str, Any], new: Mapping[str, Any]
    ) -> Criterion:
        def text(figures: Mapping[str, Any]) -> str:
            shown = units.span(figures.get(f"{what}_per_broker"))
            ratio = figures.get("bytes_max_over_mean") if self.load("bytes") else None
            if what == "leaders" or ratio is None:
                return shown
            return f"{shown}, bytes ×{units.decimal(ratio)}"

        pair = new.get(f"{what}_per_broker") or (0, 0)
        verdict: Verdict
        if pair[-1] - pair[0] <= 1:
            verdict, note = "good", f"{what} differ by at most one"
        elif self._weighed(what):
            verdict, note = "limit", f"shared by {self._weighed(what)}, not by count"
        elif what == "replicas" and self._stage("budget") is not None:
            verdict, note = "limit", self._within_limit()
        elif self._proven(what):
            verdict = "limit" if self.binding and what == "replicas" else "good"
            note = "as even as can be, proven"
        else:
            verdict, note = "bad", f"{what} differ by {units.count(pair[-1] - pair[0])}"
        return Criterion(key, name, text(old), text(new), verdict, note)

    def _within_limit(self) -> str:
        """How even the replicas are where a budget binds."""
        stages = (self.document.get("certificate") or {}).get("stages") or ()
        prices = next(stage["prices"] for stage in stages if stage.get("stage") == "budget")
        if not self._proven("replicas"):
            return "as even as was found for these disks"
        if prices.get("limit") == "tolerance":
            return "within the tolerance"
        proven = self._proven("budget")
        return (
            f"as even as {'the limit allows, proven' if proven else 'was found within the limit'}"
        )

    def _racks(self, old: Mapping[str, Any], new: Mapping[str, Any]) -> Criterion:
        was, now = old.get("rack_violations"), new.get("rack_violations")
        verdict: Verdict
        if not self.racks:
            verdict, note = "none", "the cluster names no racks"
            was = now = None
        elif not now:
            verdict, note = "good", "spread as far as the racks go"
        else:
            verdict, note = "bad", "replicas share a rack without need"
            options = self.document.get("options") or {}
            if options.get("no_moves"):
                verdict, note = "limit", "no moves were asked for"
            elif options.get("topics"):
                verdict, note = "limit", "topics that were left out stay as they are"
            elif options.get("relieve"):
                verdict, note = "limit", "to relieve disks mends no racks"

        def text(number: int | None) -> str:
            return units.MISSING if number is None else units.plural(number, "violation")

        return Criterion("racks", "Racks", text(was), text(now), verdict, note)

    def _movement(self) -> Criterion:
        verdict: Verdict = "good" if self.fewest else "limit"
        if self.short:
            note = f"less even than the fairest share, which needs {self.fair_moves}"
        elif not self.moves:
            note = "no replica moves"
        elif self.fewest:
            least = "moves fewer" if self.bytes_bound is None else "copies less"
            note = f"no plan {self._as_even} {least}, proven"
        elif self.bytes_bound is not None:
            note = self._above()
        else:
            note = f"{units.count(self.moves - self.lower_bound)} above the proven lower bound"
        text = units.count(self.moves)
        if not self.short:
            text = f"{text}, at least {units.count(self.lower_bound)}"
        if self.bytes_bound is not None:
            text = f"{units.size(self.bytes_moved)}, at least {units.size(self.bytes_bound)}"
        return Criterion(
            "moves",
            "Movement",
            units.MISSING,
            text,
            verdict,
            note,
        )

    def _deterministic(self) -> Criterion:
        verdict: Verdict = "good" if self._settled else "bad"
        note = "a second run would plan nothing"
        if not self._settled:
            note = "a second run would plan again"
        options = self.document.get("options") or {}
        if not self._settled and ("max_moves" in options or "max_bytes_moved" in options):
            verdict, note = "limit", "a second run goes on where the limit stopped"
        text = "settled" if self._settled else "not settled"
        return Criterion("settled", "Determinism", units.MISSING, text, verdict, note)

    def _after_failure(self, old: Mapping[str, Any], new: Mapping[str, Any]) -> Criterion:
        def text(figures: Mapping[str, Any]) -> str:
            worst, ideal = _failure(figures)
            if worst is None:
                return units.MISSING
            known = "" if ideal is None else f", ideal {units.count(ideal)}"
            return f"{units.count(worst)}{known}"

        worst, ideal = _failure(new)
        verdict: Verdict
        if worst is None:
            verdict, note = "none", "not counted"
        elif ideal is not None and worst <= ideal:
            verdict, note = "good", "as low as can be, proven"
        else:
            over = worst - (ideal or 0)
            verdict, note = "limit", f"{units.plural(over, 'leader')} above the lower bound"
        return Criterion("failure", "After failure", text(old), text(new), verdict, note)


def view(document: Mapping[str, Any]) -> View:
    """The document as arrays and sentences. Raises InputError for another format's version."""
    version = document.get("format_version")
    if version != FORMAT_VERSION:
        raise InputError("plan.json", f"format_version {version!r}, expected {FORMAT_VERSION}")
    brokers = tuple(
        BrokerView(
            id=int(item["id"]),
            rack=item.get("rack"),
            capacity=float(item.get("capacity") or 1),
            alive=bool(item.get("alive", True)),
            excluded=bool(item.get("excluded", False)),
            added=bool(item.get("added", False)),
        )
        for item in document["brokers"]
    )
    topics = tuple(map(str, document["topics"]))
    columns = document["partitions"]
    topic = np.array(columns["topic"], dtype=np.int64)
    ids = np.array([broker.id for broker in brokers], dtype=np.int64)
    width = max(map(len, chain(columns["before"], columns["after"])), default=1)
    before = positions(columns["before"], ids, width)
    after = positions(columns["after"], ids, width)
    size = np.array(columns["size_bytes"], dtype=np.float64)  # None becomes NaN
    rates = columns.get("bytes_per_second")
    rate = None if rates is None else np.nan_to_num(np.array(rates, dtype=np.float64))

    alive = np.array([broker.alive for broker in brokers], dtype=np.bool_)
    usable = np.array([broker.usable for broker in brokers], dtype=np.bool_)
    capacity = np.array([broker.capacity for broker in brokers], dtype=np.float64)
    loads = _loads(before, after, size, rate, usable, capacity)
    takeover, lost = takeovers(after, usable)
    moved, moved_bytes = movement(before, after, alive, np.nan_to_num(size))
    return View(
        document=document,
        brokers=brokers,
        topics=topics,
        topic=topic,
        number=np.array(columns["partition"], dtype=np.int64),
        size=size,
        before=before,
        after=after,
        loads=loads,
        topic_before=topic_counts(before, topic, len(topics), len(brokers)),
        topic_after=topic_counts(after, topic, len(topics), len(brokers)),
        takeover=takeover,
        lost=lost,
        worst_before=worst_survivor(before, alive),
        worst_after=worst_survivor(after, usable),
        move_replicas=moved,
        move_bytes=moved_bytes,
        racks=_rack_views(brokers, loads),
        waves=_waves(document.get("waves") or (), ids.tolist()),
        stages=_stages(document.get("certificate") or {}),
    )


# ---------------------------------------------------------------------- counting


def positions(lists: Sequence[Sequence[int]], ids: Ints, width: int) -> Ints:
    """[P, width] places in ``ids`` (ascending) of the broker ids in each list, padded with -1."""
    lengths = np.fromiter(map(len, lists), dtype=np.int64, count=len(lists))
    flat = np.fromiter(chain.from_iterable(lists), dtype=np.int64, count=int(lengths.sum()))
    table = np.full((len(lists), width), -1, dtype=np.int64)
    table[np.arange(width) < lengths[:, None]] = np.searchsorted(ids, flat)
    return table


def topic_counts(lists: Ints, topic: Ints, topics: int, brokers: int) -> Ints:
    """[T, B] replicas of each topic on each broker."""
    cell = topic[:, None] * brokers + lists
    counts = np.bincount(cell[lists >= 0], minlength=topics * brokers)
    return counts.reshape(topics, brokers).astype(np.int64)


def takeovers(lists: Ints, there: Bools) -> tuple[Ints, Ints]:
    """[B, B] leaders taken over, failed × survivor, and [B] partitions lost with the failed broker.

    ``there``: [B] the brokers that run. One that was not there has nothing to hand over.
    """
    brokers = len(there)
    leader = lists[:, 0]
    candidates = lists[:, 1:]
    live = (candidates >= 0) & there[candidates]
    led = (leader >= 0) & there[leader]
    heir = np.full(len(lists), -1, dtype=np.int64)
    if candidates.shape[1]:
        first = live.argmax(axis=1)
        heir = np.where(live.any(axis=1), candidates[np.arange(len(lists)), first], -1)
    kept = led & (heir >= 0)
    pairs = np.bincount(leader[kept] * brokers + heir[kept], minlength=brokers * brokers)
    lost = np.bincount(leader[led & (heir < 0)], minlength=brokers)
    return pairs.reshape(brokers, brokers).astype(np.int64), lost.astype(np.int64)


def worst_survivor(lists: Ints, there: Bools) -> Ints:
    """[B] the most leaders on one survivor after that broker fails, -1 where it is not there."""
    brokers = len(there)
    pairs, _ = takeovers(lists, there)
    own = np.bincount(lists[:, 0], minlength=brokers)
    total = own[None, :] + pairs
    survivors = there[None, :] & ~np.eye(brokers, dtype=np.bool_)
    worst = np.where(survivors, total, 0).max(axis=1, initial=0)
    return np.where(there, worst, -1).astype(np.int64)


def movement(before: Ints, after: Ints, alive: Bools, size: Floats) -> tuple[Ints, Floats]:
    """[B + 1, B] replicas and bytes fetched by each target from each current leader.

    The last row is for partitions that no live broker holds.
    """
    brokers = len(alive)
    live = (before >= 0) & alive[before]
    first = live.argmax(axis=1)
    source = np.where(live.any(axis=1), before[np.arange(len(before)), first], brokers)
    row, column = np.nonzero(_new_replicas(before, after))
    cell = source[row] * brokers + after[row, column]
    shape = (brokers + 1, brokers)
    length = shape[0] * shape[1]
    replicas = np.bincount(cell, minlength=length).reshape(shape)
    moved = np.bincount(cell, weights=size[row], minlength=length).reshape(shape)
    return replicas.astype(np.int64), moved.astype(np.float64)


def _new_replicas(before: Ints, after: Ints) -> Bools:
    """[P, R] which entries of ``after`` are on a broker that ``before`` does not name."""
    held = np.zeros(after.shape, dtype=np.bool_)
    for column in range(before.shape[1]):
        held |= after == before[:, column, None]
    return (after >= 0) & ~held


def _loads(
    before: Ints, after: Ints, size: Floats, rate: Floats | None, usable: Bools, capacity: Floats
) -> tuple[Load, ...]:
    brokers = len(usable)

    def per_broker(lists: Ints, weight: Floats | None, leaders_only: bool) -> Floats:
        entries = lists[:, :1] if leaders_only else lists
        weights = None if weight is None else np.broadcast_to(weight[:, None], entries.shape)
        held = entries >= 0
        chosen = None if weights is None else weights[held]
        counts = np.bincount(entries[held], weights=chosen, minlength=brokers)
        return counts.astype(np.float64)

    def load(
        key: str, title: str, unit: Unit, weight: Floats | None, part: Floats, leaders_only: bool
    ) -> Load:
        now = per_broker(after, weight, leaders_only)
        shares = np.where(usable, part, 0.0)
        fair = shares * (now.sum() / shares.sum()) if shares.sum() else shares
        return Load(key, title, unit, per_broker(before, weight, leaders_only), now, fair)

    even = np.ones(brokers)
    loads = [
        load("replicas", "Replicas", "count", None, capacity, False),
        load("leaders", "Leaders", "count", None, even, True),
    ]
    if not np.isnan(size).all():
        loads.append(load("bytes", "Bytes", "bytes", np.nan_to_num(size), even, False))
    if rate is not None:
        loads.append(load("rate", "Bytes in per second, as leader", "rate", rate, even, True))
    return tuple(loads)


def _rack_views(brokers: Sequence[BrokerView], loads: Sequence[Load]) -> tuple[RackView, ...]:
    names = sorted({broker.rack for broker in brokers if broker.rack is not None})
    by_key = {load.key: load for load in loads}

    def total(key: str, members: list[int]) -> tuple[float, float]:
        load = by_key.get(key)
        if load is None:
            return (0.0, 0.0)
        return (float(load.before[members].sum()), float(load.after[members].sum()))

    racks = []
    for name in names:
        members = [i for i, broker in enumerate(brokers) if broker.rack == name]
        replicas, leaders = total("replicas", members), total("leaders", members)
        racks.append(
            RackView(
                name=name,
                brokers=sum(brokers[i].usable for i in members),
                replicas=(round(replicas[0]), round(replicas[1])),
                leaders=(round(leaders[0]), round(leaders[1])),
                bytes=total("bytes", members),
            )
        )
    return tuple(racks)


# ---------------------------------------------------------------------- the document's parts

_MEANINGS = {
    "replicas": "Under these rules no placement shares the replicas more evenly.",
    "bytes": "Under these rules no placement shares the bytes more evenly.",
    "moves": "No plan this even makes brokers fetch fewer replicas.",
    "topic spread": "With no move more, no plan spreads each topic's replicas more evenly.",
    "budget": "Within the limits asked for, no plan does better.",
    "bytes moved": "No plan within the same bands of bytes moves fewer.",
    "leaders": "On these replicas, the leaders cannot be shared more evenly.",
    "failure": "After any one broker fails, its leaders cannot fall more evenly on the others.",
    "leader changes": "No order as even changes fewer leaders.",
}


def _stages(certificate: Mapping[str, Any]) -> tuple[Stage, ...]:
    stages = []
    for item in certificate.get("stages") or ():
        name = str(item.get("stage", "")).replace("_", " ")
        value, bound = item.get("value"), item.get("bound")
        stages.append(
            Stage(
                name=name,
                value=units.plain(value),
                bound=units.plain(bound),
                proven=value is not None and value == bound,
                meaning=_meaning(name, value, bound),
            )
        )
    return tuple(stages)


def _meaning(name: str, value: Any, bound: Any) -> str:
    if value == bound:
        return _MEANINGS.get(name, "The value equals a bound that no plan can beat.")
    if value is not None and bound is not None and value < bound:
        return "The bound is of plans that are as good in the stages before: this one is not."
    return "The value is above its lower bound: good, but not proven to be the best."


def _waves(items: Sequence[Mapping[str, Any]], ids: Sequence[int]) -> tuple[Wave, ...]:
    place = {broker: i for i, broker in enumerate(ids)}
    waves = []
    for item in items:
        wave = Wave(
            item["file"], item["partitions"], item["moves"], item["bytes"], item.get("seconds")
        )
        if "brokers" in item:
            known = item["bytes_in"] is not None
            wave = replace(
                wave,
                brokers=tuple(place[broker] for broker in item["brokers"]),
                replicas_in=tuple(item["replicas_in"]),
                replicas_out=tuple(item["replicas_out"]),
                bytes_in=tuple(item["bytes_in"]) if known else None,
                bytes_out=tuple(item["bytes_out"]) if known else None,
            )
        waves.append(wave)
    return tuple(waves)


def _failure(figures: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """Worst survivor and ideal out of ``leaders_after_failure``."""
    after = figures.get("leaders_after_failure") or {}
    return after.get("max"), after.get("ideal")
