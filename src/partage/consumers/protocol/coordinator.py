"""The classic group coordinator as a state machine.

    EMPTY ──join──▶ PREPARING ──all have joined──▶ COMPLETING ──leader syncs──▶ STABLE
                        ▲                               │                          │
                        └─── a member joins, leaves or changes its subscription ───┘

*Joining.* A rebalance waits in PREPARING until every member has joined again, at most for the
longest rebalance timeout of the members. Dynamic members that have not joined by then are removed;
static members stay until their session expires. Then a generation begins, and every member receives
its number. The leader, the first member that joined, also receives all subscriptions, computes the
assignment and sends it with its SyncGroup request. A member that does not sync within the rebalance
timeout is removed.

*Choosing the assignor.* Candidates are the assignors that every member lists. Each member votes for
the first candidate in its own list; the one with the most votes wins, in a tie the one that comes
first in a Java hash map. A join whose list has none of the
candidates of the present members is refused with INCONSISTENT_GROUP_PROTOCOL. The present members
include the one that joins again, with its former list: a static member is refused if it returns
with a list that has nothing in common with its former one, even if it is alone.

*Static members.* A member with a ``group.instance.id`` that returns under a new member id takes
over its old entry and assignment: without a rebalance while the group is stable and the chosen
assignor stays the same. The process that had the instance id before is fenced.

Not modelled: member ids granted in a first, refused join (KIP-394), and the five minutes after
which a new member's unanswered join is dropped.

Source: Kafka's GroupMetadataManager and ClassicGroup.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

from partage.consumers.java_order import java_order
from partage.consumers.protocol.consumer import Phase, SimulatedConsumer
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
from partage.consumers.protocol.timers import Timers


class State(Enum):
    """The state of a group."""

    EMPTY = "empty"
    PREPARING = "preparing"
    COMPLETING = "completing"
    STABLE = "stable"


@dataclass
class ClassicMember:
    """A member as the coordinator knows it.

    - ``request``: its last join; ``join``, ``sync``: its requests that are not answered yet
    - ``generation``: the last that it joined; ``since``: the first of those that it has joined
      without interruption
    """

    member_id: str
    request: Join
    join: Join | None = None
    sync: Sync | None = None
    assignment: Partitions = ()
    generation: int = -1
    since: int = -1

    @property
    def client(self) -> str:
        return self.request.client

    @property
    def static(self) -> bool:
        return self.request.instance_id is not None


class MemberIds:
    """Gives each member an id: the name of its process, then ``name~2`` and so on."""

    def __init__(self) -> None:
        self._given: Counter[str] = Counter()

    def give(self, client: str) -> str:
        """A new id."""
        self._given[client] += 1
        number = self._given[client]
        return client if number == 1 else f"{client}~{number}"


class Coordinator:
    """The coordinator of one group. ``handle`` processes a request, ``tick`` the time-outs; both
    return the answers that are due. ``deadline`` is the time of the next time-out.

    - ``initial_delay``: ``group.initial.rebalance.delay.ms`` in seconds, how long an empty group
      waits for more members
    - ``generation``: the last one before the first member joins
    - ``removed``: (time, client, reason) of the members that were removed
    - ``user_data``: whether user data are in the assignment
    """

    def __init__(
        self,
        generation: int = 0,
        *,
        initial_delay: float = 0.0,
        ids: MemberIds | None = None,
    ) -> None:
        self.initial_delay = initial_delay
        self.state = State.EMPTY
        self.generation = generation
        self.assignor = ""
        self.user_data = False
        self.leader: str | None = None
        self.members: dict[str, ClassicMember] = {}
        self.removed: list[tuple[float, str, str]] = []
        self._instances: dict[str, str] = {}
        self._ids = ids or MemberIds()
        self._sessions = Timers()
        # by assignor, the members that list it
        self._listed: Counter[str] = Counter()
        # the members that have not joined while the group prepares a generation, and those of the
        # present generation that have not asked for their assignment
        self._not_joined: set[str] = set()
        self._not_synced: set[str] = set()
        self._join_by = math.inf
        self._sync_by = math.inf
        # In the first rebalance of an empty group: seconds by which it may still extend the wait.
        # None in any other rebalance.
        self._extension: float | None = None
        self._someone_joined = False
        self._answers: list[Answer] = []

    # -- called by the network

    def handle(self, now: float, request: Request) -> list[Answer]:
        """Process a request. Returns the answers to its sender and to other members."""
        match request:
            case Join():
                self._join(now, request)
            case Sync():
                self._sync(now, request)
            case Heartbeat():
                self._heartbeat(now, request)
            case Leave():
                self._leave(now, request)
        return self._take_answers()

    def tick(self, now: float) -> list[Answer]:
        """Process the time-outs that are due."""
        due = self._sessions.due(now)
        for member in [member for key, member in self.members.items() if key in due] if due else ():
            self._expire(now, member, "its session expired")
        if self._join_by <= now:
            self._end_joining(now)
        if self._sync_by <= now:
            self._end_syncing(now)
        return self._take_answers()

    @property
    def deadline(self) -> float:
        """When the next time-out is due, in seconds; infinity for never."""
        return min(self._sessions.first(), self._join_by, self._sync_by)

    def skip(self, seconds: float) -> None:
        """Postpone the time-outs of sessions; the group is settled, so there are no others."""
        self._sessions.skip(seconds)

    def counts(self, consumer: SimulatedConsumer) -> bool:
        """Whether the group accepts the process as the owner of what it holds: it is in the present
        generation, and has not missed one since the generation that assigned its partitions."""
        member = self.members.get(consumer.member_id)
        if member is None or member.client != consumer.client:
            return False
        return member.generation == self.generation and consumer.held_since >= member.since

    def settled(self, running: Sequence[SimulatedConsumer]) -> bool:
        """Whether the group is stable with exactly these processes, or empty without any."""
        if self.state is State.EMPTY:
            return not running
        known = {member.client for member in self.members.values()}
        return (
            self.state is State.STABLE
            and known == {consumer.client for consumer in running}
            and all(c.phase is Phase.MEMBER and self.counts(c) for c in running)
        )

    # -- conversion to and from a consumer group (``migration``)

    def interrupt(self) -> list[Answer]:
        """Answer the joins and syncs that wait: their senders must join again."""
        again = Error.REBALANCE_IN_PROGRESS
        for member in self.members.values():
            if member.join is not None:
                self._answers.append(Joined(member.join, again, member.member_id))
            if member.sync is not None:
                self._answers.append(Synced(member.sync, again))
        return self._take_answers()

    def adopt(self, now: float, members: Sequence[ClassicMember], rebalance: bool) -> list[Answer]:
        """Begin with these members, at the present generation; ``rebalance``: with a rebalance."""
        for member in members:
            self._add(member)
            self._renew_session(now, member)
        self.assignor, self.state = self._vote(), State.STABLE
        if rebalance:
            self._rebalance(now)
        return self._take_answers()

    # -- joining

    def _join(self, now: float, request: Join) -> None:
        if not self._has_candidate(request):
            self._answers.append(Joined(request, Error.INCONSISTENT_GROUP_PROTOCOL))
            return
        if not request.member_id:
            self._admit(now, request)
            return
        error = self._identity_error(request)
        if error is not None:
            self._answers.append(Joined(request, error))
            return
        member = self.members[request.member_id]
        changed = (
            request.assignors != member.request.assignors
            or request.subscription != member.request.subscription
        )
        leads = member.member_id == self.leader
        calm = self.state is State.COMPLETING or (self.state is State.STABLE and not leads)
        if calm and not changed:
            # it has not received the answer
            self._answers.append(self._joined(request, member))
            return
        self._await_generation(member, request)
        self._rebalance(now)

    def _admit(self, now: float, request: Join) -> None:
        member_id = self._ids.give(request.client)
        old = self._instances.get(request.instance_id or "")
        if old is not None:
            self._take_over(now, old, member_id, request)
            return
        member = ClassicMember(member_id, request)
        self._add(member)
        self._await_generation(member, request)
        if self.state is State.PREPARING and self._extension is not None:
            self._someone_joined = True
        self._rebalance(now)

    def _take_over(self, now: float, old: str, member_id: str, request: Join) -> None:
        """A static member returns under a new member id."""
        before = self.members[old]
        self.removed.append((now, before.client, "its instance id joined as another member"))
        for pending in (before.join, before.sync):
            if pending is not None:
                answer = Joined if isinstance(pending, Join) else Synced
                self._answers.append(answer(pending, Error.FENCED_INSTANCE_ID))
        member = ClassicMember(member_id, request, assignment=before.assignment)
        self._drop(before)
        self._listed.update(set(request.assignors))
        led = self.leader == old
        # the order of joining stays
        self.members = {
            (member_id if key == old else key): (member if key == old else value)
            for key, value in self.members.items()
        }
        if request.instance_id is not None:
            self._instances[request.instance_id] = member_id
        if led:
            self.leader = member_id
        same = self.state is State.STABLE and self._vote() == self.assignor
        if same:
            member.generation = member.since = self.generation
            self._not_synced.add(member_id)
            # KIP-814: even if it leads, it does not assign
            self._answers.append(self._joined(request, member, assign=False))
            self._renew_session(now, member)
            return
        self._await_generation(member, request)
        self._rebalance(now)

    def _add(self, member: ClassicMember) -> None:
        self.members[member.member_id] = member
        self._listed.update(set(member.request.assignors))
        if member.request.instance_id is not None:
            self._instances[member.request.instance_id] = member.member_id
        if self.leader is None:
            self.leader = member.member_id

    def _drop(self, member: ClassicMember) -> None:
        """Remove a member from what is counted."""
        self._listed.subtract(set(member.request.assignors))
        self._not_joined.discard(member.member_id)
        self._not_synced.discard(member.member_id)
        self._sessions.put(member.member_id, math.inf)

    def _await_generation(self, member: ClassicMember, request: Join) -> None:
        """The member has joined and waits; its session does not expire while it waits."""
        self._listed.subtract(set(member.request.assignors))
        self._listed.update(set(request.assignors))
        member.request = member.join = request
        self._not_joined.discard(member.member_id)
        self._sessions.put(member.member_id, math.inf)

    def _rebalance(self, now: float) -> None:
        """Begin a rebalance, or the next generation if all members have joined."""
        if self.state in (State.STABLE, State.COMPLETING):
            self._abort_sync(now)
            self.state = State.PREPARING
            self._not_joined = {key for key, member in self.members.items() if not member.join}
            self._join_by = now + self._rebalance_timeout()
        elif self.state is State.EMPTY:
            self.state = State.PREPARING
            self._join_by = now + self.initial_delay
            self._extension = max(self._rebalance_timeout() - self.initial_delay, 0.0)
            self._someone_joined = False
        if self._extension is None and not self._not_joined:
            self._begin_generation(now)

    def _abort_sync(self, now: float) -> None:
        self._sync_by = math.inf
        if self.state is State.COMPLETING:
            for member in self.members.values():
                member.assignment = ()
                if member.sync is not None:
                    self._answers.append(Synced(member.sync, Error.REBALANCE_IN_PROGRESS))
                    member.sync = None
                    self._renew_session(now, member)

    def _end_joining(self, now: float) -> None:
        if self._extension is not None and self._someone_joined and self._extension > 0:
            self._someone_joined = False
            wait = min(self.initial_delay, self._extension)
            self._extension = max(self._extension - self.initial_delay, 0.0)
            self._join_by = now + wait
            return
        for member in [m for m in self.members.values() if m.join is None and not m.static]:
            self._remove(now, member, "it did not join in time")
        self._begin_generation(now)

    def _begin_generation(self, now: float) -> None:
        here = [member for member in self.members.values() if member.join is not None]
        if self.members and not here:
            # only static members that have not joined: wait until their sessions expire
            self._join_by = now + self._rebalance_timeout()
            return
        self._join_by = math.inf
        self._extension = None
        self.generation += 1
        if not self.members:
            self.state, self.assignor = State.EMPTY, ""
            return
        if self.leader is None or self.members[self.leader].join is None:
            self.leader = here[0].member_id
        self.assignor = self._vote()
        self.state = State.COMPLETING
        self._not_synced = {member.member_id for member in here}
        for member in here:
            if member.generation != self.generation - 1:
                member.since = self.generation
            member.generation = self.generation
        for member in here:
            request, member.join = member.join, None
            assert request is not None
            self._answers.append(self._joined(request, member))
            self._renew_session(now, member)
        self._sync_by = now + self._rebalance_timeout()

    def _joined(self, request: Join, member: ClassicMember, assign: bool = True) -> Joined:
        subscriptions = None
        if assign and member.member_id == self.leader:
            subscriptions = {
                other.member_id: (other.request.instance_id, other.request.subscription)
                for other in self.members.values()
            }
        return Joined(
            request, None, member.member_id, self.generation, self.assignor, subscriptions
        )

    # -- the vote

    def _lists(self) -> list[tuple[str, ...]]:
        return [member.request.assignors for member in self.members.values()]

    def _has_candidate(self, request: Join) -> bool:
        return any(self._listed[name] == len(self.members) for name in request.assignors)

    def _vote(self) -> str:
        lists = self._lists()
        candidates = set(lists[0]).intersection(*lists)
        votes = Counter(next(name for name in names if name in candidates) for names in lists)
        voted = list(votes)
        return max((voted[at] for at in java_order(voted)), key=votes.__getitem__)

    # -- syncing, heartbeats, leaving

    def _sync(self, now: float, request: Sync) -> None:
        error = self._identity_error(request)
        if error is None and request.generation != self.generation:
            error = Error.ILLEGAL_GENERATION
        if error is None and self.state is State.PREPARING:
            error = Error.REBALANCE_IN_PROGRESS
        if error is not None:
            self._answers.append(Synced(request, error))
            return
        member = self.members[request.member_id]
        if self.state is State.COMPLETING:
            member.sync = request
            self._not_synced.discard(member.member_id)
            self._sessions.put(member.member_id, math.inf)
            if member.member_id == self.leader and request.assignment is not None:
                self._accept_assignment(now, request)
        else:
            self._send_assignment(now, member, request)
        if self.state is State.STABLE and not self._not_synced:
            self._sync_by = math.inf

    def _accept_assignment(self, now: float, request: Sync) -> None:
        """Store the leader's assignment and send it to the members that wait for it."""
        assert request.assignment is not None
        self.state, self.user_data = State.STABLE, request.user_data
        for member in self.members.values():
            member.assignment = request.assignment.get(member.member_id, ())
        for member in self.members.values():
            if member.sync is not None:
                self._send_assignment(now, member, member.sync)

    def _send_assignment(self, now: float, member: ClassicMember, request: Sync) -> None:
        member.sync = None
        self._not_synced.discard(member.member_id)
        self._answers.append(Synced(request, None, self.generation, member.assignment))
        self._renew_session(now, member)

    def _end_syncing(self, now: float) -> None:
        self._sync_by = math.inf
        late = [member for key, member in self.members.items() if key in self._not_synced]
        for member in late:
            self._remove(now, member, "it did not sync in time")
        if late:
            self._rebalance(now)

    def _heartbeat(self, now: float, request: Heartbeat) -> None:
        error = self._identity_error(request)
        if error is None and request.generation != self.generation:
            error = Error.ILLEGAL_GENERATION
        if error is None:
            member = self.members[request.member_id]
            if member.join is None and member.sync is None:
                self._renew_session(now, member)
            if self.state is State.PREPARING:
                error = Error.REBALANCE_IN_PROGRESS
        self._answers.append(Answer(request, error))

    def _leave(self, now: float, request: Leave) -> None:
        if not request.member_id:
            waiting = [key for key, one in self.members.items() if one.client == request.client]
            request = replace(request, member_id=waiting[-1] if waiting else "")
        error = self._identity_error(request)
        self._answers.append(Answer(request, error))
        if error is None:
            member = self.members[request.member_id]
            self._forget(member)
            self._rebalance_without(now)

    # -- removing members

    def _identity_error(self, request: Request) -> Error | None:
        """Why a request is not from the member that it names, None if it is."""
        instance, member_id = request.instance_id, request.member_id
        if instance is not None and self._instances.get(instance, member_id) != member_id:
            return Error.FENCED_INSTANCE_ID
        return None if member_id in self.members else Error.UNKNOWN_MEMBER_ID

    def _renew_session(self, now: float, member: ClassicMember) -> None:
        self._sessions.put(member.member_id, now + member.request.session_timeout)

    def _expire(self, now: float, member: ClassicMember, why: str) -> None:
        if member.member_id in self.members:
            self._remove(now, member, why)
            self._rebalance_without(now)

    def _remove(self, now: float, member: ClassicMember, why: str) -> None:
        self.removed.append((now, member.client, why))
        self._forget(member)

    def _forget(self, member: ClassicMember) -> None:
        if member.join is not None:
            self._answers.append(Joined(member.join, Error.UNKNOWN_MEMBER_ID))
        if member.sync is not None:
            self._answers.append(Synced(member.sync, Error.UNKNOWN_MEMBER_ID))
        del self.members[member.member_id]
        self._drop(member)
        if member.request.instance_id is not None:
            self._instances.pop(member.request.instance_id, None)
        if self.leader == member.member_id:
            # the member that joined first; Kafka takes any
            self.leader = next(iter(self.members), None)

    def _rebalance_without(self, now: float) -> None:
        if self.state in (State.STABLE, State.COMPLETING):
            self._rebalance(now)
        elif self.state is State.PREPARING and not self._not_joined:
            self._begin_generation(now)

    def _rebalance_timeout(self) -> float:
        return max((m.request.rebalance_timeout for m in self.members.values()), default=0.0)

    def _take_answers(self) -> list[Answer]:
        answers, self._answers = self._answers, []
        return answers
