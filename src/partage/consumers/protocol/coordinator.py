"""The classic group coordinator as a state machine.

    EMPTY ──join──▶ PREPARING ──all have joined──▶ COMPLETING ──leader syncs──▶ STABLE
                        ▲                               │                          │
                        └── a member comes, goes or changes what it says ──────────┘

A rebalance waits in PREPARING until every member has joined again, at most for the longest
rebalance timeout among them; dynamic members that have not joined by then are out, static ones stay
listed until their session runs out. Then a generation begins: everyone gets its number, the leader
(the first who joined) gets everyone's subscription as well, computes the assignment and brings it
with its SyncGroup. Whoever does not sync within the rebalance timeout is out too.

The assignor is chosen by vote: candidates are those that every member lists, each member votes for
the first candidate of its own list, most votes win (a tie goes to the candidate voted for first; in
Kafka to whichever its hash map gives). A member that would leave no candidate is turned away with
INCONSISTENT_GROUP_PROTOCOL.

A static member (``group.instance.id``) that comes back under a new member id takes over the seat
and its assignment; while the group is stable and the chosen assignor stays the same, without a
rebalance. Whoever had the seat before is fenced.

Left out: member ids granted in a first, refused join (KIP-394), and the five minutes after which a
new member's unanswered join is dropped. Source: Kafka's GroupMetadataManager and ClassicGroup.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from partage.consumers.protocol.messages import (
    Answer,
    Error,
    Heartbeat,
    Join,
    Joined,
    Leave,
    Partitions,
    Request,
    Sync,
    Synced,
)


class State(Enum):
    """Of a group."""

    EMPTY = "empty"
    PREPARING = "preparing"
    COMPLETING = "completing"
    STABLE = "stable"


@dataclass
class ClassicMember:
    """A member as the coordinator sees it.

    - ``generation``: the last that it joined; ``since``: the first of those it joined without a gap
    - ``synced``: the last that it was handed its assignment of
    - ``join``, ``sync``: its request that is not answered yet
    - ``expires``: when its session runs out
    """

    member_id: str
    request: Join
    join: Join | None = None
    sync: Sync | None = None
    assignment: Partitions = ()
    expires: float = math.inf
    generation: int = -1
    since: int = -1
    synced: int = -1

    @property
    def client(self) -> str:
        return self.request.client

    @property
    def static(self) -> bool:
        return self.request.instance_id is not None


class Coordinator:
    """One group. ``handle`` takes a request, ``tick`` lets time pass; both return the answers that
    are due. ``deadline`` is when ``tick`` has something to do.

    ``initial_delay``: ``group.initial.rebalance.delay.ms`` in seconds, how long an empty group
    waits for more members. ``generation``: of what was before. ``expelled`` collects the clients
    that were put out, with the reason.
    """

    def __init__(self, generation: int = 0, *, initial_delay: float = 0.0) -> None:
        self.initial_delay = initial_delay
        self.state = State.EMPTY
        self.generation = generation
        self.assignor = ""
        self.leader: str | None = None
        self.seats: dict[str, ClassicMember] = {}
        self.expelled: list[tuple[float, str, str]] = []
        self._instances: dict[str, str] = {}
        self._granted: dict[str, int] = {}
        self._join_by = math.inf
        self._sync_by = math.inf
        # of the first rebalance of an empty group: seconds it may still wait, None for any other
        self._may_wait: float | None = None
        self._newcomer = False
        self._answers: list[Answer] = []

    # -- the outside

    def handle(self, now: float, request: Request) -> list[Answer]:
        """Answers that the request brings about, to its sender or to others."""
        match request:
            case Join():
                self._join(now, request)
            case Sync():
                self._sync(now, request)
            case Heartbeat():
                self._heartbeat(now, request)
            case Leave():
                self._leave(now, request)
        return self._flush()

    def tick(self, now: float) -> list[Answer]:
        """Time-outs that are due."""
        for seat in [seat for seat in self.seats.values() if seat.expires <= now]:
            self._expel(now, seat, "its session ran out")
        if self._join_by <= now:
            self._join_time_is_up(now)
        if self._sync_by <= now:
            self._sync_time_is_up(now)
        return self._flush()

    @property
    def deadline(self) -> float:
        """When the next time-out is due, infinity for never."""
        expires = min((seat.expires for seat in self.seats.values()), default=math.inf)
        return min(expires, self._join_by, self._sync_by)

    def seat_of(self, client: str, member_id: str) -> ClassicMember | None:
        """The seat of a process that is a member of this very generation, else None."""
        seat = self.seats.get(member_id)
        if seat is None or seat.client != client or seat.generation != self.generation:
            return None
        return seat

    # -- joining

    def _join(self, now: float, request: Join) -> None:
        if not self._has_candidate(request):
            self._answers.append(Joined(request, Error.INCONSISTENT_GROUP_PROTOCOL))
            return
        if not request.member_id:
            self._admit(now, request)
            return
        error = self._stranger(request)
        if error is not None:
            self._answers.append(Joined(request, error))
            return
        seat = self.seats[request.member_id]
        changed = (
            request.assignors != seat.request.assignors
            or request.subscription != seat.request.subscription
        )
        leads = seat.member_id == self.leader
        calm = self.state is State.COMPLETING or (self.state is State.STABLE and not leads)
        if calm and not changed:
            # it has missed the answer
            self._answers.append(self._joined(request, seat))
            return
        self._sit(seat, request)
        self._rebalance(now)

    def _admit(self, now: float, request: Join) -> None:
        number = self._granted.get(request.client, 0) + 1
        self._granted[request.client] = number
        member_id = request.client if number == 1 else f"{request.client}~{number}"
        old = self._instances.get(request.instance_id or "")
        if old is not None:
            self._take_over(now, old, member_id, request)
            return
        seat = ClassicMember(member_id, request)
        self._take(seat)
        self._sit(seat, request)
        if self.state is State.PREPARING and self._may_wait is not None:
            self._newcomer = True
        self._rebalance(now)

    def _take_over(self, now: float, old: str, member_id: str, request: Join) -> None:
        """A static member is back under a new id."""
        before = self.seats[old]
        self.expelled.append((now, before.client, "its instance id came back as another member"))
        for pending in (before.join, before.sync):
            if pending is not None:
                answer = Joined if isinstance(pending, Join) else Synced
                self._answers.append(answer(pending, Error.FENCED_INSTANCE_ID))
        seat = ClassicMember(member_id, request, assignment=before.assignment)
        led = self.leader == old
        # the same place in the order of joining
        self.seats = {
            (member_id if key == old else key): (seat if key == old else value)
            for key, value in self.seats.items()
        }
        if request.instance_id is not None:
            self._instances[request.instance_id] = member_id
        if led:
            self.leader = member_id
        same = self.state is State.STABLE and self._vote() == self.assignor
        if same:
            seat.generation = seat.since = self.generation
            # KIP-814: even as the leader it is not to assign
            self._answers.append(self._joined(request, seat, assign=False))
            self._beat(now, seat)
            return
        self._sit(seat, request)
        self._rebalance(now)

    def _take(self, seat: ClassicMember) -> None:
        self.seats[seat.member_id] = seat
        if seat.request.instance_id is not None:
            self._instances[seat.request.instance_id] = seat.member_id
        if self.leader is None:
            self.leader = seat.member_id

    @staticmethod
    def _sit(seat: ClassicMember, request: Join) -> None:
        """The member has joined and waits; while it waits its session does not run."""
        seat.request = seat.join = request
        seat.expires = math.inf

    def _rebalance(self, now: float) -> None:
        """Begin one, or go on with it if everybody is there."""
        if self.state in (State.STABLE, State.COMPLETING):
            self._break_off(now)
            self.state = State.PREPARING
            self._join_by = now + self._rebalance_timeout()
        elif self.state is State.EMPTY:
            self.state = State.PREPARING
            self._join_by = now + self.initial_delay
            self._may_wait = max(self._rebalance_timeout() - self.initial_delay, 0.0)
            self._newcomer = False
        if self._may_wait is None and all(seat.join for seat in self.seats.values()):
            self._begin_generation(now)

    def _break_off(self, now: float) -> None:
        self._sync_by = math.inf
        if self.state is State.COMPLETING:
            for seat in self.seats.values():
                seat.assignment = ()
                if seat.sync is not None:
                    self._answers.append(Synced(seat.sync, Error.REBALANCE_IN_PROGRESS))
                    seat.sync = None
                    self._beat(now, seat)

    def _join_time_is_up(self, now: float) -> None:
        if self._may_wait is not None and self._newcomer and self._may_wait > 0:
            self._newcomer = False
            wait = min(self.initial_delay, self._may_wait)
            self._may_wait = max(self._may_wait - self.initial_delay, 0.0)
            self._join_by = now + wait
            return
        for seat in [s for s in self.seats.values() if s.join is None and not s.static]:
            self._remove(now, seat, "it did not join in time")
        self._begin_generation(now)

    def _begin_generation(self, now: float) -> None:
        here = [seat for seat in self.seats.values() if seat.join is not None]
        if self.seats and not here:
            # only static members that are silent: until their sessions run out
            self._join_by = now + self._rebalance_timeout()
            return
        self._join_by = math.inf
        self._may_wait = None
        self.generation += 1
        if not self.seats:
            self.state, self.assignor = State.EMPTY, ""
            return
        if self.leader is None or self.seats[self.leader].join is None:
            self.leader = here[0].member_id
        self.assignor = self._vote()
        self.state = State.COMPLETING
        for seat in here:
            if seat.generation != self.generation - 1:
                seat.since = self.generation
            seat.generation = self.generation
        for seat in here:
            request, seat.join = seat.join, None
            assert request is not None
            self._answers.append(self._joined(request, seat))
            self._beat(now, seat)
        self._sync_by = now + self._rebalance_timeout()

    def _joined(self, request: Join, seat: ClassicMember, assign: bool = True) -> Joined:
        leads = assign and seat.member_id == self.leader
        members = {
            other.member_id: (other.request.instance_id, other.request.subscription)
            for other in self.seats.values()
        }
        return Joined(
            request,
            None,
            seat.member_id,
            self.generation,
            self.assignor,
            members if leads else None,
        )

    # -- the vote

    def _candidates(self, lists: Iterable[tuple[str, ...]]) -> set[str]:
        return set.intersection(*map(set, lists))

    def _has_candidate(self, request: Join) -> bool:
        lists = [s.request.assignors for s in self.seats.values() if not self._same(s, request)]
        return bool(self._candidates([request.assignors, *lists]))

    @staticmethod
    def _same(seat: ClassicMember, request: Join) -> bool:
        """Whether the request is for that seat."""
        if request.instance_id is not None:
            return seat.request.instance_id == request.instance_id
        return seat.member_id == request.member_id

    def _vote(self) -> str:
        lists = [seat.request.assignors for seat in self.seats.values()]
        candidates = self._candidates(lists)
        votes: dict[str, int] = {}
        for names in lists:
            choice = next(name for name in names if name in candidates)
            votes[choice] = votes.get(choice, 0) + 1
        return max(votes, key=lambda name: votes[name])

    # -- syncing, beating, leaving

    def _sync(self, now: float, request: Sync) -> None:
        error = self._stranger(request)
        if error is None and request.generation != self.generation:
            error = Error.ILLEGAL_GENERATION
        if error is None and self.state is State.PREPARING:
            error = Error.REBALANCE_IN_PROGRESS
        if error is not None:
            self._answers.append(Synced(request, error))
            return
        seat = self.seats[request.member_id]
        if self.state is State.COMPLETING:
            seat.sync = request
            seat.expires = math.inf
            if seat.member_id == self.leader and request.assignment is not None:
                self._settle(now, request)
        else:
            self._hand_out(now, seat, request)
        if self.state is State.STABLE and not self._unsynced():
            self._sync_by = math.inf

    def _settle(self, now: float, request: Sync) -> None:
        """The leader's assignment is here: everyone who waits for it gets its part."""
        assert request.assignment is not None
        self.state = State.STABLE
        for seat in self.seats.values():
            seat.assignment = request.assignment.get(seat.member_id, ())
        for seat in self.seats.values():
            if seat.sync is not None:
                self._hand_out(now, seat, seat.sync)

    def _hand_out(self, now: float, seat: ClassicMember, request: Sync) -> None:
        seat.sync = None
        seat.synced = self.generation
        self._answers.append(Synced(request, None, self.generation, seat.assignment))
        self._beat(now, seat)

    def _unsynced(self) -> list[ClassicMember]:
        return [
            seat
            for seat in self.seats.values()
            if seat.generation == self.generation
            and seat.synced != self.generation
            and seat.sync is None
        ]

    def _sync_time_is_up(self, now: float) -> None:
        self._sync_by = math.inf
        late = self._unsynced()
        for seat in late:
            self._remove(now, seat, "it did not sync in time")
        if late:
            self._rebalance(now)

    def _heartbeat(self, now: float, request: Heartbeat) -> None:
        error = self._stranger(request)
        if error is None and request.generation != self.generation:
            error = Error.ILLEGAL_GENERATION
        if error is None:
            seat = self.seats[request.member_id]
            if seat.join is None and seat.sync is None:
                self._beat(now, seat)
            if self.state is State.PREPARING:
                error = Error.REBALANCE_IN_PROGRESS
        self._answers.append(Answer(request, error))

    def _leave(self, now: float, request: Leave) -> None:
        error = self._stranger(request)
        self._answers.append(Answer(request, error))
        if error is None:
            seat = self.seats[request.member_id]
            self._drop(seat)
            self._after_loss(now)

    # -- members that go

    def _stranger(self, request: Request) -> Error | None:
        """Why a request that names a member id is not that member's."""
        instance, member_id = request.instance_id, request.member_id
        if instance is not None and self._instances.get(instance, member_id) != member_id:
            return Error.FENCED_INSTANCE_ID
        return None if member_id in self.seats else Error.UNKNOWN_MEMBER_ID

    def _beat(self, now: float, seat: ClassicMember) -> None:
        seat.expires = now + seat.request.session_timeout

    def _expel(self, now: float, seat: ClassicMember, why: str) -> None:
        if seat.member_id in self.seats:
            self._remove(now, seat, why)
            self._after_loss(now)

    def _remove(self, now: float, seat: ClassicMember, why: str) -> None:
        self.expelled.append((now, seat.client, why))
        self._drop(seat)

    def _drop(self, seat: ClassicMember) -> None:
        if seat.join is not None:
            self._answers.append(Joined(seat.join, Error.UNKNOWN_MEMBER_ID))
        if seat.sync is not None:
            self._answers.append(Synced(seat.sync, Error.UNKNOWN_MEMBER_ID))
        del self.seats[seat.member_id]
        if seat.request.instance_id is not None:
            self._instances.pop(seat.request.instance_id, None)
        if self.leader == seat.member_id:
            # who has been here longest; Kafka takes any
            self.leader = next(iter(self.seats), None)

    def _after_loss(self, now: float) -> None:
        if self.state in (State.STABLE, State.COMPLETING):
            self._rebalance(now)
        elif self.state is State.PREPARING and all(s.join for s in self.seats.values()):
            self._begin_generation(now)

    def _rebalance_timeout(self) -> float:
        return max((s.request.rebalance_timeout for s in self.seats.values()), default=0.0)

    def _flush(self) -> list[Answer]:
        answers, self._answers = self._answers, []
        return answers
