"""The oracle for active tasks of Kafka Streams, from the definition of GROUP.json.

It imports nothing from the product: a group is a plain JSON value whose subtopologies have one
topic each. Task by task, every vector of loads that can be reached, each with the best value that
reaches it: how even the subtopologies are, tasks that start without state, tasks that change
process, tasks that change thread.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from math import lcm
from typing import Any

Json = dict[str, Any]
Pair = tuple[str, int]
Value = tuple[int, ...]


class StreamsCase:
    """A group with what its members had.

    - ``warm``: the processes that a task may start on without delay (None: all, it is stateless)
    - ``even_state``: with lags, the stateful subtopologies, which are even together
    """

    def __init__(self, group: Json) -> None:
        self.group, self.members = group, group["members"]
        self.process = [str(m.get("process") or m["id"]) for m in self.members]
        self.threads = Counter(self.process)
        common = lcm(*self.threads.values())
        self.weight = {p: common // n for p, n in self.threads.items()}
        self.owner: dict[Pair, int] = {}
        had: dict[Pair, set[str]] = {}
        for at, member in enumerate(self.members):
            for topic, number in member.get("owned", []):
                self.owner[topic, number] = at
            for topic, number in [*member.get("owned", []), *member.get("standbys", [])]:
                had.setdefault((topic, number), set()).add(self.process[at])
        self.tasks: dict[str, list[Pair]] = {}
        self.warm: dict[Pair, set[str] | None] = {}
        self.even_state: set[str] = set()
        streams = group["streams"]
        for kind, entry in enumerate(streams["subtopologies"]):
            (topic,) = entry["topics"]
            self.tasks[topic] = [(topic, n) for n in range(group["topics"][topic])]
            for pair in self.tasks[topic]:
                self.warm[pair] = None
                if entry.get("stateful"):
                    self.warm[pair] = had.get(pair, set())
                    if "lags" in streams:
                        self.even_state.add(topic)
                        self.warm[pair] = self.caught_up(streams, f"{kind}_{pair[1]}", pair)

    def caught_up(self, streams: Json, task: str, pair: Pair) -> set[str]:
        """Processes within the acceptable lag; if there is none, those with the smallest lag."""
        lag = {p: streams["lags"].get(p, {}).get(task) for p in self.threads}
        if pair in self.owner and lag[self.process[self.owner[pair]]] is None:
            lag[self.process[self.owner[pair]]] = 0
        known = {p: records for p, records in lag.items() if records is not None}
        limit = max(streams.get("acceptable_recovery_lag", 10_000), min(known.values(), default=0))
        return {p for p, records in known.items() if records <= limit} or set(self.threads)

    def steps(self, pair: Pair, at: int) -> Value:
        """(without state, to another process, to another thread) of a task on a thread."""
        process, before = self.process[at], self.owner.get(pair)
        warm = self.warm[pair]
        cold = warm is not None and process not in warm
        left = before is None or self.process[before] != process
        return int(cold), int(left), int(before != at)

    def uneven(self, count: Mapping[str, int]) -> int:
        """Sum of squares of counts per process, in proportion to its threads."""
        return sum(self.weight[p] * n * n for p, n in count.items())

    def best(self) -> Value:
        """The value of the best assignment, as ``value`` has it."""
        threads = range(len(self.members))
        none = (0,) * len(threads)
        reached: dict[tuple[Value, Value], Value] = {(none, none): (0, 0, 0, 0)}
        for topic, pairs in self.tasks.items():
            inside = {(none, *loads): value for loads, value in reached.items()}
            for pair in pairs:
                after: dict[tuple[Value, Value, Value], Value] = {}
                for (counts, loads, state), value in inside.items():
                    for at in threads:
                        if topic not in self.members[at]["topics"]:
                            continue
                        of_state = _one_more(state, at) if topic in self.even_state else state
                        place = (_one_more(counts, at), _one_more(loads, at), of_state)
                        steps = self.steps(pair, at)
                        now = (value[0], *(a + b for a, b in zip(value[1:], steps, strict=True)))
                        after[place] = min(now, after.get(place, now))
                inside = after
            reached = {}
            for (counts, *place), value in inside.items():
                now = (value[0] + self.uneven(self._per_process(counts)), *value[1:])
                at_loads = (place[0], place[1])
                reached[at_loads] = min(now, reached.get(at_loads, now))
        return min(
            (
                self.uneven(self._per_process(loads)),
                sum(n * n for n in loads),
                value[0],
                self._uneven_state(loads, state),
                *value[1:],
            )
            for (loads, state), value in reached.items()
        )

    def _uneven_state(self, loads: Value, state: Value) -> int:
        """Squares of the stateful and of the stateless tasks per process, 0 where they do not
        count."""
        if not self.even_state:
            return 0
        others = tuple(a - b for a, b in zip(loads, state, strict=True))
        return sum(self.uneven(self._per_process(part)) for part in (state, others))

    def value(self, assignment: Mapping[str, list[Any]]) -> Value:
        """Squares of the tasks per process, per thread, per subtopology and process, and (with
        lags) of stateful and stateless tasks per process; then tasks without state, on another
        process, on another thread. Checks that every task is assigned once, to a subscriber."""
        place = {m["id"]: at for at, m in enumerate(self.members)}
        runs = {tuple(pair): place[m] for m, pairs in assignment.items() for pair in pairs}
        assert sum(map(len, assignment.values())) == len(runs) == len(self.warm)
        assert all(pair[0] in self.members[at]["topics"] for pair, at in runs.items())
        loads = Counter(runs.values())
        found = [
            self.uneven(Counter(self.process[at] for at in runs.values())),
            sum(n * n for n in loads.values()),
            sum(
                self.uneven(Counter(self.process[runs[pair]] for pair in pairs))
                for pairs in self.tasks.values()
            ),
        ]
        state = Counter(at for pair, at in runs.items() if pair[0] in self.even_state)
        found.append(
            self._uneven_state(*(tuple(n[at] for at in range(len(place))) for n in (loads, state)))
        )
        steps = [self.steps(pair, at) for pair, at in runs.items()]  # type: ignore[arg-type]
        return (*found, *(sum(step[n] for step in steps) for n in range(3)))

    def _per_process(self, counts: Value) -> dict[str, int]:
        found: dict[str, int] = dict.fromkeys(self.threads, 0)
        for at, count in enumerate(counts):
            found[self.process[at]] += count
        return found


def _one_more(counts: Value, at: int) -> Value:
    return (*counts[:at], counts[at] + 1, *counts[at + 1 :])
