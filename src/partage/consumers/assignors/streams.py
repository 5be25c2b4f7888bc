"""Streams: tasks of Kafka Streams, active and standby (StreamsPartitionAssignor's job, exactly).

The group says ``streams`` (``consumers.streams.config``). A task is one number of a subtopology:
that partition of all of its topics, always on one member. A member is a thread of the process that
it names, and a process has as much room as it has threads; the ``tags`` of a process say where it
runs (its rack, where no process has any). Loads are counted in tasks.

1. Each active gets a *home*. Without more said, as ``streams.tasks`` shares them: processes even,
   then fewest changes. With ``rack_aware`` or ``lags`` as ``streams.targets`` does: processes even,
   stateful tasks even, then the least cost of KIP-925, then fewest homes that are not caught up,
   then fewest changes.
2. Standbys are shared out around the homes, apart from each other by tags.
3. With ``lags``, what would stop until its home has its state waits elsewhere, and the home warms
   up (``streams.warmups``, KIP-441). Warm-ups are told apart from standbys, but say so under
   ``standbys`` when they join again. A task that is withheld until its old thread gives it up stays
   as a warm-up where it had its state, so that the state is not closed meanwhile.
4. Each process deals its actives to its threads, evenly and with fewest changes, then the standbys
   to those with least.

Costs (KIP-925): a stateful task costs ``traffic_cost`` for each of its partitions without a
replica in the rack of the process, and ``non_overlap_cost`` where it did not run before; a
stateless one 1 and 0. As in Kafka, one process or partition of unknown rack switches them off. The
defaults 10 and 1 are those of Kafka's HighAvailabilityTaskAssignor; its StickyTaskAssignor has 1
and 10.

What differs from Kafka, whose default is HighAvailabilityTaskAssignor:

- That one deals tasks round and evens out by single moves, stateful ones first and without regard
  to who had them. Here all tasks together are even first, and what can stay stays.
- Its non-overlap counts against that first deal, with the loads of each process fixed as dealt.
  Here it counts against the last owner, and is least among all the loads that are as even.
- ``balance_subtopology`` there caps a subtopology's tasks per process at its share, rounded up.
  Here they are as even as can be before anything is said of costs.
- Standbys go by tags alone. There they are exchanged by racks of their changelogs, too, which the
  group does not tell.
- What waits stays where it ran, if that is caught up. There it goes to a standby, or to whoever has
  least. Warm-ups go first to homes that lag least, not to tasks in order.
- What lag is unknown counts as more than any other. Kafka knows the end of the changelog, and puts
  whoever has nothing at that.
- A process deals stateful actives, standbys and stateless actives to its threads there, in this
  order.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from partage.consumers.assignment import Assignment, Warmups
from partage.consumers.streams.config import UNKNOWN_LAG, StreamsConfig
from partage.consumers.streams.targets import choose_targets
from partage.consumers.streams.tasks import assign_actives, assign_standbys, place_standbys
from partage.consumers.streams.topology import Topology
from partage.consumers.streams.warmups import StateLags, WarmupPlan, plan_round
from partage.group import Group
from partage.group.model import NOBODY

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_LONG_LAG = 2**40
"""StateLags are told apart up to this when homes are chosen."""


def streams(group: Group, mode: str) -> Assignment:
    """Partitions of the active tasks, with the standbys. Raises InputError where the group's
    ``streams`` is no good."""
    config = StreamsConfig.of(group)
    app = Topology.of(group, config)
    tasks = app.tasks
    notes: list[str] = []
    far, lags = _far(app, notes), _lags(app)
    if far is None and lags is None:
        active = assign_actives(tasks)
        home = tasks.process_of(active)
        now = WarmupPlan.at_rest(home, _standbys(app, home, lags))
    else:
        by_kind = far is not None and config.rack_strategy == "balance_subtopology"
        home = choose_targets(tasks, app.stateful, _costs(app, far, lags), by_kind)
        now = WarmupPlan.at_rest(home, _standbys(app, home, lags))
        if lags is not None:
            most = config.max_warmup_replicas
            now = plan_round(tasks, now, app.stateful, lags, most)
        active = assign_actives(tasks.pinned(now.active))
    owner = np.full(group.partitions, NOBODY, dtype=np.int64)
    owner[app.row] = active[app.task]
    copies = assign_standbys(tasks, active, now.standby | now.warmup, app.had)
    standbys = [(at, task) for at, task in copies if now.standby[task, tasks.process[at]]]
    warmups = [(at, task) for at, task in copies if now.warmup[task, tasks.process[at]]]
    warming = None
    if lags is not None:
        warmups = sorted(warmups + _kept(app, active, lags))
        due = config.probing_rebalance_interval_ms if now.waiting else None
        warming = Warmups(*_copies(app, warmups), now.waiting, due)
    wanted = config.standbys * int((app.stateful & (active != NOBODY)).sum())
    if len(standbys) < wanted:
        notes.append(f"{wanted - len(standbys)} of {wanted} standbys find no process of their own")
    elsewhere = group.partitions - len(app.row)
    if elsewhere:
        notes.append(f"{elsewhere} partitions are of topics in no subtopology: left out")
    return Assignment(
        group,
        owner,
        owner,
        standbys=_copies(app, standbys),
        warming=warming,
        cross_rack=None if far is None else _sum_at(far, now.active),
        notes=tuple(notes),
    )


def _far(app: Topology, notes: list[str]) -> Ints | None:
    """[T, N] partitions that would be read across racks, None where racks do not count."""
    if app.config.rack_strategy == "none":
        return None
    unknown = app.without_rack()
    if unknown is not None:
        notes.append(f"{unknown}: costs of racks are left out")
        return None
    return app.far()


def _lags(app: Topology) -> StateLags | None:
    if app.config.lags is None:
        return None
    able = app.tasks.open_process[app.tasks.kind]
    return StateLags(app.lag(), able, app.config.acceptable_recovery_lag)


def _costs(app: Topology, far: Ints | None, lags: StateLags | None) -> list[Ints]:
    """[T, N] each: what homes shall cost least of, one after the other."""
    tasks, config = app.tasks, app.config
    stateful = app.stateful[:, np.newaxis]
    ran_on = tasks.process_of(tasks.owner)[:, np.newaxis]
    moves = ran_on != np.arange(len(tasks.threads))
    found: list[Ints] = []
    if far is not None:
        of_state = config.traffic_cost * far + config.non_overlap_cost * moves
        found.append(np.where(stateful, of_state, far))
    behind: Ints = (~tasks.holds).astype(np.int64)
    if lags is not None:
        waits = stateful & ~lags.may_run
        found.append(waits.astype(np.int64))
        behind = np.where(waits, np.minimum(lags.lag, _LONG_LAG), 0)
    return [*found, moves.astype(np.int64), behind]


def _standbys(app: Topology, home: Ints, lags: StateLags | None) -> Bools:
    """[T, N] standbys around the homes, rather where they have caught up, then where some of the
    state is."""
    anew = None
    if lags is not None:
        some = app.tasks.holds | (lags.lag < UNKNOWN_LAG)
        anew = np.where(lags.caught_up, 0, np.where(some, 1, 2))
    return place_standbys(app.tasks, home, app.stateful, app.config.standbys, anew)


def _kept(app: Topology, active: Ints, lags: StateLags) -> list[tuple[int, int]]:
    """(thread, task) of tasks that must be given up by another process first, and whose state lies
    with the new one."""
    member, partition = app.group.claims
    task_of = np.full(app.group.partitions, NOBODY, dtype=np.int64)
    task_of[app.row] = app.task
    task = task_of[partition]
    member, task = member[task != NOBODY], task[task != NOBODY]
    to = active[task]
    process = app.tasks.process
    goes = app.stateful[task] & (to != NOBODY) & (process[member] != process[to])
    task = np.unique(task[goes])
    some = (app.tasks.holds | (lags.lag < UNKNOWN_LAG))[task, process[active[task]]]
    return [(int(active[at]), at) for at in task[some].tolist()]


def _copies(app: Topology, dealt: list[tuple[int, int]]) -> tuple[Ints, Ints]:
    """(member, partition) ascending, of (member, task)."""
    member, task = np.array(dealt, dtype=np.int64).reshape(-1, 2).T
    of, partition = app.rows(task)
    order = np.lexsort((partition, member[of]))
    return member[of][order], partition[order]


def _sum_at(table: Ints, process: Ints) -> int:
    rows = np.flatnonzero(process != NOBODY)
    return int(table[rows, process[rows]].sum())
