"""Streams: active and standby tasks of Kafka Streams, as its StreamsPartitionAssignor, but exact.

The group's ``streams`` object (``consumers.streams.config``) lists the subtopologies. A task is one
partition number of a subtopology: that partition of all its topics, always on one member. A member
is a thread of the process that it names; the capacity of a process is its number of threads. The
``tags`` of a process are where it runs (its rack, where no process has tags). Loads are counted in
tasks. One round decides in four steps:

1. Each active task gets a *target* process (``streams.targets``): tasks even per process, then per
   thread, then those of each subtopology per process; then the most stateful tasks where their
   state is, on their process or on one with a standby; then the fewest changes. With ``lags``,
   state may move without a pause: stateful tasks are even, too, before their state counts, and a
   target should have caught up. With ``rack_aware`` stateful tasks are even, then the costs of
   KIP-925 come before state; with ``min_traffic`` subtopologies are the last to be even.
2. Standbys are placed on other processes than the target, spread by tags.
3. With ``lags``, a task whose target has not caught up runs elsewhere while the target warms up
   (``streams.warmups``, KIP-441). Warm-ups are reported separately from standbys, but members list
   both under ``standbys`` when they rejoin. A task that is withheld until its previous thread
   revokes it stays as a warm-up where its state is, so that the state is not closed meanwhile.
4. Each process distributes its active tasks over its threads, evenly and with the fewest changes,
   then the standbys to its least loaded threads.

Costs (KIP-925): a stateful task costs ``traffic_cost`` for each of its partitions without a replica
in the rack of the process, and ``non_overlap_cost`` on a process where it did not run before; a
stateless task costs 1 and 0. As in Kafka, one process or partition with an unknown rack switches
the costs off. The defaults 10 and 1 are those of Kafka's HighAvailabilityTaskAssignor; its
StickyTaskAssignor has 1 and 10.

Differences from Kafka, whose default is HighAvailabilityTaskAssignor:

- Kafka assigns tasks round robin and balances them by single moves, stateful tasks first,
  regardless of the previous owner. Here evenness and state are decided together, exactly, and every
  task that can stay stays.
- Kafka counts non-overlap against that round-robin assignment, with the loads of the processes
  fixed. Here it counts against the previous owner, and is the least among all equally even loads.
- ``balance_subtopology``: Kafka caps a subtopology's tasks per process at its share, rounded up.
  Here they are as even as possible before any cost counts.
- Standbys go by tags alone. Kafka also swaps them by the racks of their changelogs, which the group
  does not contain.
- A task that waits stays where it ran, if that process has caught up. In Kafka it goes to a standby
  or to the least loaded process. Warm-ups first go to the targets with the smallest lag; in Kafka,
  to tasks in order.
- An unknown lag counts as larger than any other. Kafka knows the end of the changelog and uses it
  as the lag of a process without state.
- In Kafka, a process distributes stateful active tasks, standbys and stateless active tasks to its
  threads, in this order.
"""

from __future__ import annotations

import numpy as np

from partage.arrays import Bools, Ints
from partage.consumers.assignment import Assignment, Warmups
from partage.consumers.streams.config import UNKNOWN_LAG, StreamsConfig
from partage.consumers.streams.standbys import place_standbys
from partage.consumers.streams.targets import Criterion, Even, choose_targets
from partage.consumers.streams.threads import assign_actives, assign_standbys
from partage.consumers.streams.topology import Topology
from partage.consumers.streams.warmups import StateLags, WarmupPlan, plan_round
from partage.group import Group
from partage.group.model import NO_MEMBER
from partage.units import plural

_MAX_LAG = 2**40
"""Larger lags count as this when targets are chosen."""


def streams(group: Group) -> Assignment:
    """Owners of the partitions of the active tasks, with standbys and warm-ups. Raises InputError
    for an invalid ``streams`` object."""
    config = StreamsConfig.of(group)
    app = Topology.of(group, config)
    tasks = app.tasks
    notes: list[str] = []
    cross_rack, lags = _cross_rack(app, notes), state_lags(app)
    active, now = _round(app, cross_rack, lags)
    owner = np.full(group.partitions, NO_MEMBER, dtype=np.int64)
    owner[app.row] = active[app.task]
    copies = assign_standbys(tasks, active, now.standby | now.warmup, app.had)
    standbys = [(at, task) for at, task in copies if now.standby[task, tasks.process[at]]]
    warming = None
    if lags is not None:
        warmups = [(at, task) for at, task in copies if now.warmup[task, tasks.process[at]]]
        warmups = sorted(warmups + _kept_open(app, active, lags))
        due = config.probing_rebalance_interval_ms if now.waiting else None
        warming = Warmups(*_copies(app, warmups), now.waiting, due)
    wanted = config.standbys * int((app.stateful & (active != NO_MEMBER)).sum())
    if len(standbys) < wanted:
        notes.append(f"too few processes: {wanted - len(standbys)} of {wanted} standbys not placed")
    elsewhere = group.partitions - len(app.row)
    if elsewhere:
        notes.append(f"topics of no subtopology are ignored: {plural(elsewhere, 'partition')}")
    return Assignment(
        group,
        owner,
        owner,
        standbys=_copies(app, standbys),
        warming=warming,
        cross_rack=None if cross_rack is None else _sum_at(cross_rack, now.active),
        notes=tuple(notes),
    )


def _round(
    app: Topology, cross_rack: Ints | None, lags: StateLags | None
) -> tuple[Ints, WarmupPlan]:
    """[T] the thread that runs each task this round, and the processes of all copies."""
    target = choose_targets(app.tasks, app.stateful, target_criteria(app, cross_rack, lags))
    now = WarmupPlan.without_waiting(target, _standbys(app, target, lags))
    if lags is not None:
        now = plan_round(app.tasks, now, app.stateful, lags, app.config.max_warmup_replicas)
    return assign_actives(app.tasks, now.active), now


def _cross_rack(app: Topology, notes: list[str]) -> Ints | None:
    """[T, N] partitions that a process would read across racks, None where racks do not count."""
    if app.config.rack_strategy == "none":
        return None
    unknown = app.unknown_rack()
    if unknown is not None:
        notes.append(f"{unknown}: rack costs are ignored")
        return None
    return app.cross_rack()


def state_lags(app: Topology) -> StateLags | None:
    """The lags of the group, None where they are not given."""
    if app.config.lags is None:
        return None
    able = app.tasks.open_process[app.tasks.kind]
    return StateLags(app.lag(), able, app.config.acceptable_recovery_lag)


def target_criteria(
    app: Topology, cross_rack: Ints | None, lags: StateLags | None
) -> list[Criterion]:
    """What targets are chosen by, the most important first."""
    tasks, config = app.tasks, app.config
    stateful = app.stateful[:, np.newaxis]
    ran_on = tasks.process_of(tasks.owner)[:, np.newaxis]
    moves = (ran_on != np.arange(len(tasks.threads))).astype(np.int64)
    subtopologies = cross_rack is None or config.rack_strategy == "balance_subtopology"
    state = cross_rack is not None or lags is not None
    costs: list[Criterion] = []
    if cross_rack is not None:
        of_state = config.traffic_cost * cross_rack + config.non_overlap_cost * moves
        costs.append(np.where(stateful, of_state, cross_rack))
    if lags is None:
        costs += [(stateful & ~tasks.holds).astype(np.int64), moves]
    else:
        waits = stateful & ~lags.may_run
        behind = np.where(waits, np.minimum(lags.lag, _MAX_LAG), 0)
        costs += [waits.astype(np.int64), moves, behind]
    first = {Even.SUBTOPOLOGIES: subtopologies, Even.STATE: state}
    before = [even for even, comes_first in first.items() if comes_first]
    after = [even for even, comes_first in first.items() if not comes_first]
    return [Even.PROCESSES, Even.THREADS, *before, *costs, *after]


def _standbys(app: Topology, target: Ints, lags: StateLags | None) -> Bools:
    """[T, N] the processes of the standbys: preferably caught up, then with some of the state."""
    cost = None
    if lags is not None:
        some_state = app.tasks.holds | (lags.lag < UNKNOWN_LAG)
        cost = np.where(lags.caught_up, 0, np.where(some_state, 1, 2))
    return place_standbys(app.tasks, target, app.stateful, app.config.standbys, cost)


def _kept_open(app: Topology, active: Ints, lags: StateLags) -> list[tuple[int, int]]:
    """(thread, task) of tasks that another process must revoke first, and of which the new process
    already has some state."""
    member, partition = app.group.claims
    task_of = np.full(app.group.partitions, NO_MEMBER, dtype=np.int64)
    task_of[app.row] = app.task
    task = task_of[partition]
    member, task = member[task != NO_MEMBER], task[task != NO_MEMBER]
    to = active[task]
    process = app.tasks.process
    goes = app.stateful[task] & (to != NO_MEMBER) & (process[member] != process[to])
    task = np.unique(task[goes])
    some_state = (app.tasks.holds | (lags.lag < UNKNOWN_LAG))[task, process[active[task]]]
    return [(int(active[at]), at) for at in task[some_state].tolist()]


def _copies(app: Topology, copies: list[tuple[int, int]]) -> tuple[Ints, Ints]:
    """(member, partition), ascending, of (member, task)."""
    member, task = np.array(copies, dtype=np.int64).reshape(-1, 2).T
    of, partition = app.rows(task)
    order = np.lexsort((partition, member[of]))
    return member[of][order], partition[order]


def _sum_at(table: Ints, process: Ints) -> int:
    rows = np.flatnonzero(process != NO_MEMBER)
    return int(table[rows, process[rows]].sum())
