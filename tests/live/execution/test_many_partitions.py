"""Ten thousand partitions in flight at once: requests and the work of a round are bounded."""

from __future__ import annotations

import cProfile
import pstats
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("kafka")

from partage.live.execution.changes import Change
from partage.live.execution.execution_plan import ExecutionPlan
from partage.live.execution.executor import POLL_SECONDS, Executor
from partage.live.execution.journal import Journal
from partage.live.execution.outcome import Outcome
from partage.live.execution.write_rates import WriteRates
from partage.testing import FakeCluster

pytestmark = pytest.mark.long

MB = 10**6
BROKERS = range(1001, 1011)

LONGEST_STRING = 2**15 - 1
"""Of a request to Kafka: longer ones close the connection."""

LARGEST_BATCH = 8 * 2**20
"""Bytes: a KRaft controller writes the configurations of one request in one batch."""

READS = ("list_partition_reassignments", "describe_topics", "describe_cluster", "describe_configs")
WRITES = ("alter_partition_reassignments", "alter_configs", "elect_leaders")


class Requests:
    """What a run sent: by round, how many requests of each kind; the largest of each kind."""

    def __init__(self, cluster: FakeCluster) -> None:
        self.rounds: list[Counter[str]] = [Counter()]
        self.entries: dict[str, int] = defaultdict(int)
        self.config_bytes = self.longest_value = 0
        for name in (*READS, *WRITES, "describe_log_dirs"):
            setattr(cluster.admin, name, self._counted(name, getattr(cluster.admin, name)))

    def _counted(self, name: str, request: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any, **kwargs: Any) -> Any:
            self.rounds[-1][name] += 1
            named = args[-1] if args else None
            if isinstance(named, Mapping | list):
                self.entries[name] = max(self.entries[name], len(named))
            if name == "alter_configs":
                values = [v or "" for one in args[0] for _, v in one.configs.values()]
                self.config_bytes = max(self.config_bytes, sum(map(len, values)))
                self.longest_value = max(self.longest_value, *map(len, values))
            return request(*args, **kwargs)

        return counted


class Rounds:
    """The run of changes in one wave, all of them requested at once."""

    def __init__(self, folder: Path, lists: dict[tuple[str, int], tuple[int, ...]]) -> None:
        changes = {}
        for row, (key, origin) in enumerate(lists.items()):
            target = (BROKERS[(row + 3) % 10], *origin[1:])
            changes[key] = Change(*key, origin, target, MB * (1 + row % 100))
        self.plan = ExecutionPlan(str(folder), "id", changes, (tuple(changes),), lists)
        self.cluster = FakeCluster(lists, BROKERS)
        for key, change in changes.items():
            self.cluster.resize(key, change.size_bytes or 0)
        self.requests = Requests(self.cluster)

    def run(self, **options: Any) -> Outcome:
        with Journal.open(self.plan.directory) as journal:
            return Executor(
                self.plan,
                self.cluster.admin,
                journal,
                throttle=4 * MB,
                clock=self.cluster.clock,
                sleep=self._sleep,
                **options,
            ).run()

    def _sleep(self, seconds: float) -> None:
        assert self.cluster.now < 3600, "the run never ends"
        if seconds == POLL_SECONDS:
            self.requests.rounds.append(Counter())
        self.cluster.sleep(seconds)


def lists_of(topics: Mapping[str, int]) -> dict[tuple[str, int], tuple[int, ...]]:
    keys = [(topic, number) for topic, count in topics.items() for number in range(count)]
    return {
        key: tuple(BROKERS[(row + more) % 10] for more in range(3)) for row, key in enumerate(keys)
    }


def test_requests_are_bounded(tmp_path: Path) -> None:
    """One topic of 10,000 partitions and 2,000 small ones: 12,000 partitions in one wave, of which
    some complete in every round."""
    topics = {"large": 10_000} | {f"small-{n:04}": 1 for n in range(2_000)}
    rounds = Rounds(tmp_path, lists_of(topics))
    assert rounds.run() == Outcome("done")
    assert rounds.cluster.replicas == {key: one.target for key, one in rounds.plan.changes.items()}
    assert rounds.cluster.throttles == {}
    requests = rounds.requests
    assert sum(map(len, rounds.cluster.requests)) == 12_000
    assert requests.entries["alter_partition_reassignments"] == 1000
    assert requests.entries["describe_topics"] == 500
    assert 0 < requests.entries["alter_configs"] <= 50
    assert requests.longest_value <= LONGEST_STRING
    assert requests.config_bytes <= LARGEST_BATCH
    watching = requests.rounds[2:-3]
    assert len(watching) > 10
    # per round: the wave's topics by 500 each, and all of them at most twice
    assert max(one["describe_topics"] for one in watching) <= 12
    assert max(one["list_partition_reassignments"] for one in watching) <= 12
    assert max(one["describe_log_dirs"] for one in watching) <= len(BROKERS)
    assert max(one["describe_configs"] for one in watching) <= len(BROKERS) + 5
    assert sum(one["alter_configs"] for one in watching) == 0
    # once only the large ones are left, the others are not read any more
    assert watching[-1]["describe_topics"] < watching[0]["describe_topics"]


def test_the_work_grows_with_the_partitions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Calls of functions per partition, and of what costs as much as all partitions."""
    calls, rates = {}, Counter[int]()
    measured = WriteRates.rates
    for size in (500, 2_000):
        rounds = Rounds(tmp_path / str(size), lists_of({f"t-{n}": size // 10 for n in range(10)}))
        (tmp_path / str(size)).mkdir()

        def counted(growth: WriteRates, size: int = size) -> Any:
            rates[size] += 1
            return measured(growth)

        monkeypatch.setattr(WriteRates, "rates", counted)
        with cProfile.Profile() as profile:
            assert rounds.run().state == "done"
        calls[size] = pstats.Stats(profile).total_calls / len(rounds.requests.rounds)
        assert rates[size] <= 3 * len(rounds.requests.rounds)
    assert calls[2_000] < 5 * calls[500]


def test_a_broker_dies_with_two_thousand_in_flight(tmp_path: Path) -> None:
    rounds = Rounds(tmp_path, lists_of({"t": 2_000}))
    rounds.cluster.at(5, lambda: rounds.cluster.stop_broker(1001))
    with cProfile.Profile() as profile:
        outcome = rounds.run(on_failure="cancel")
    assert outcome.state == "differs"
    blocked = [
        one
        for one in rounds.plan.changes.values()
        if 1001 in one.target and one.name in outcome.problems
    ]
    assert 200 < len(blocked) == len(outcome.problems)
    compared = [f for f in pstats.Stats(profile).stats if f[2] == "__eq__"]  # type: ignore[attr-defined]
    assert compared == []
