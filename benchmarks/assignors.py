"""The sticky assignors of partage, Kafka and kafka-python on the same groups, in one run.

    python benchmarks/assignors.py [SHAPE...] [--size medium] [--groups 400] [--limit 60] [--keep]

*Quality*: random groups whose subscriptions differ (``consumers/random_groups.py``). All members
join; then a member leaves or joins, or a topic grows. Every tool continues from its own assignment,
and all tools once more from the same start: partage's. ``consumers/judging.py`` judges the answers.

*Seconds*: large groups. All members join; then one leaves; then another joins instead, and the
others report what they own. Peers are timed around the call of their class, Kafka's after a
warm-up; the fastest run counts. partage gets owned partitions as arrays; converting its answer to
lists of pairs is timed separately.

The tables go to stdout, progress to stderr; ``--keep`` saves the figures for the page. The exit
code is 1 if an answer of partage is invalid, not the fairest, or has more moves than an equally
fair answer of a peer.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent / "consumers"))

import runners
from judging import Verdict, verdict
from random_groups import SHAPES, Held, Shape, changed, unequal_group
from runners import Runner

import machine
import results
from environments import UnavailableError
from harness import add_arguments, within
from partage import Group, Member, assign
from tables.assignors import JOBS, OURS, ROUNDS, blocks, digits, wrong

Json = dict[str, Any]
Answer = dict[str, list[list[Any]]]
Tool = Callable[[Json], Answer | None]

PEERS = {"Kafka": runners.kafka, "kafka-python": runners.kafka_python}
QUALITY = "random groups"
GROUPS = {"small": 100, "medium": 400, "large": 400}
REPEAT = 3
COUNTED = (
    "answers",
    "faults",
    "unfair",
    "more moves",
    "moves",
    "least moves",
    "spread",
    "squares",
    "least squares",
    "more even than partage",
)


# -- quality


def partage_answer(group: Json) -> Answer:
    found = assign(Group.from_json(group, "group"), "sticky").as_dict()
    return {member: [list(pair) for pair in held] for member, held in found.items()}


def peer_answers(runner: Runner, limit: float) -> Tool:
    """A function from group to the peer's answer, None on an error or at the limit."""

    def ask(group: Json) -> Answer | None:
        answer = runner.ask({"assignor": "sticky", **group}, limit)
        return answer.get("assignment") if answer else None

    return ask


def quality(tools: dict[str, Tool], count: int, seed: int) -> dict[str, Json]:
    """By round and tool: the number of answers that have ``faults``, are ``unfair``, or have ``more
    moves`` than the best fair answer from the same start; their moves and unevenness.

    Answers with faults or unfair loads are left out of the later columns.
    """
    draw = random.Random(seed)
    tally = {when: {tool: _empty() for tool in tools} for when in ROUNDS}
    for number in range(count):
        if number % 50 == 0:
            print(f"  group {number} of {count}", file=sys.stderr)
        group = unequal_group(draw)
        after = changed(draw, group)
        first = {tool: answer(group) for tool, answer in tools.items()}
        judge(tally["fresh"], group, first)
        start = first[OURS]
        assert start is not None
        common = after(start)
        judge(tally["common"], common, {tool: answer(common) for tool, answer in tools.items()})
        for tool, answer in tools.items():
            own = after(_usable(group, first[tool]) or start)
            found = {OURS: partage_answer(own), tool: answer(own)}
            judge({tool: tally["own"][tool]}, own, found)
    return tally


def _empty() -> Json:
    return dict.fromkeys(COUNTED, 0)


def _usable(group: Json, answer: Answer | None) -> Held | None:
    """The answer if it is valid, so that members can own its partitions."""
    return answer if answer is not None and not verdict(group, answer).faults else None


def judge(tally: Json, group: Json, answers: dict[str, Answer | None]) -> None:
    """Add the answers of the tools in ``tally`` to it. partage's must be among the answers."""
    found = {tool: verdict(group, answer) for tool, answer in answers.items() if answer is not None}
    fair = {tool: each for tool, each in found.items() if not each.faults and each.fairest}
    # fewest moves of any tool; if they are not partage's, its row counts "more moves"
    best = min(((each.moves, each.squares) for each in fair.values()), default=(0, 0))
    for tool, row in tally.items():
        row["answers"] += 1
        if tool not in found or found[tool].faults:
            row["faults"] += 1
        elif not found[tool].fairest:
            row["unfair"] += 1
        else:
            _add(row, found[tool], best, fair.get(OURS))


def _add(row: Json, one: Verdict, best: tuple[int, int], mine: Verdict | None) -> None:
    row["more moves"] += one.moves > best[0]
    row["moves"] += one.moves
    row["least moves"] += best[0]
    row["spread"] += one.spread
    row["squares"] += one.squares
    row["least squares"] += mine.squares if mine else one.squares
    row["more even than partage"] += (
        mine is not None and one.moves == mine.moves and one.squares < mine.squares
    )


# -- seconds


def seconds(shape: Shape, peers: dict[str, Runner], limit: float, seed: int) -> dict[str, Json]:
    """By tool and job: ``seconds``, ``moves``, the range of the ``loads``, ``spread`` (the most
    that two subscribers of a topic differ in it), or the ``problem``.

    A peer without an answer is not asked again.
    """
    topics, subscribed = shape.generate(seed)
    found = {OURS: _our_seconds(topics, subscribed)}
    print(f"  {OURS} ... " + ", ".join(map(_result, found[OURS].values())), file=sys.stderr)
    for peer, runner in peers.items():
        if peer in shape.peers:
            print(f"  {peer} ...", end=" ", file=sys.stderr, flush=True)
            found[peer] = _their_seconds(topics, subscribed, runner, limit)
            print(", ".join(_result(figures) for figures in found[peer].values()), file=sys.stderr)
    return found


def _result(figures: Json) -> str:
    return figures.get("problem") or digits(figures["seconds"])


def _subscriptions(subscribed: dict[str, list[str]], job: str) -> dict[str, list[str]]:
    """The topics of each member that takes part in the join."""
    ids = list(subscribed)
    if job == "one left":
        ids.pop(len(ids) // 3)
    more = {"member-new": subscribed[ids[0]]} if job == "one joined" else {}
    return {**{at: subscribed[at] for at in ids}, **more}


def _our_seconds(topics: dict[str, int], subscribed: dict[str, list[str]]) -> Json:
    figures: Json = {}
    owned: dict[str, Any] = {}
    first: Held = {}
    for job in JOBS:
        joining = _subscriptions(subscribed, job)
        spent, expanding = [], []
        for _ in range(REPEAT):
            members = [
                Member(at, of, owned=owned.get(at, ()), generation=1 if at in owned else -1)
                for at, of in joining.items()
            ]
            began = time.perf_counter()
            found = assign(Group(topics, members), "sticky")
            spent.append(time.perf_counter() - began)
            began = time.perf_counter()
            answer = found.as_dict()
            expanding.append(time.perf_counter() - began)
        figures[job] = {"seconds": min(spent), "expanding": min(expanding)}
        figures[job] |= _counted(topics, joining, owned and first, answer)
        if job == "fresh":
            first = answer
            owned = {m.id: found.partitions_of(at) for at, m in enumerate(found.group.members)}
    return figures


def _their_seconds(
    topics: dict[str, int], subscribed: dict[str, list[str]], runner: Runner, limit: float
) -> Json:
    figures: Json = {}
    owned: Answer = {}
    for job in JOBS:
        if any("problem" in each for each in figures.values()):
            figures[job] = {"problem": "–"}
            continue
        joining = _subscriptions(subscribed, job)
        members = [
            {
                "id": at,
                "topics": of,
                "owned": owned.get(at, []),
                "generation": 1 if at in owned else -1,
            }
            for at, of in joining.items()
        ]
        group = {"assignor": "sticky", "topics": topics, "members": members}
        try:
            answer = runner.ask(group, limit)
            if answer and REPEAT * answer.get("seconds", limit) < limit / 8:
                answer = runner.ask({**group, "repeat": REPEAT}, limit)
        except UnavailableError as problem:
            answer = {"error": f"not available: {problem}"}
        if answer is None:
            figures[job] = {"problem": f"> {limit:g}", "limit": limit}
        elif "error" in answer:
            figures[job] = {"problem": f"failed: {answer['error'][:60]}"}
        else:
            figures[job] = {"seconds": answer["seconds"]}
            figures[job] |= _counted(topics, joining, owned, answer["assignment"])
            owned = owned or answer["assignment"]
    return figures


def _counted(
    topics: dict[str, int], joining: dict[str, list[str]], owned: Held, answer: Held
) -> Json:
    """``moves``, ``loads`` and ``spread`` of an answer, or the ``problem`` if it is not
    complete."""
    had = {(t, n): at for at in joining for t, n in owned.get(at, ())}
    given = [(t, n) for held in answer.values() for t, n in held]
    counts: dict[str, Counter[str]] = {}
    for at, of in joining.items():
        for topic in of:
            counts.setdefault(topic, Counter())[at] = 0
    if len(given) != sum(topics[topic] for topic in counts) or len(set(given)) != len(given):
        return {"problem": "not each partition once"}
    moves = 0
    for at, held in answer.items():
        for topic, number in held:
            counts[topic][at] += 1
            moves += had.get((topic, number)) != at
    loads = [len(answer[at]) for at in joining]
    spread = max(max(each.values()) - min(each.values()) for each in counts.values())
    return {"moves": moves, "loads": [min(loads), max(loads)], "spread": spread}


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Measure the sticky assignors of partage and its peers."
    )
    parser.add_argument("shapes", nargs="*", metavar="SHAPE", help=f"one of {', '.join(SHAPES)}")
    parser.add_argument("--groups", type=int, help="number of random groups to judge; 0: none")
    parser.add_argument("--limit", type=float, default=60, help="time limit of a peer, in seconds")
    add_arguments(parser)
    given = parser.parse_args()
    groups = GROUPS[given.size] if given.groups is None else given.groups
    unknown = set(given.shapes) - set(SHAPES)
    if unknown or given.limit <= 0 or groups < 0:
        parser.error(
            f"no shape {min(unknown)}"
            if unknown
            else "--limit must be above 0, --groups at least 0"
        )
    sized = [name for name, shape in SHAPES.items() if shape.size in within(given.size)]
    figures = measure(given.shapes or sized, groups, given.limit, given.seed)
    if given.keep:
        versions = machine.versions(*machine.PLANNER, *PEERS, "Java")
        results.keep("assignors", figures, versions, {"limit": given.limit, "seed": given.seed})
    found = latest(figures)
    print("\n\n".join(blocks(found).values()))
    return int(any(wrong(row[OURS]) for row in found.get("quality", {}).values()))


def measure(shapes: Sequence[str], groups: int, limit: float, seed: int) -> Json:
    """All figures: quality by number of random groups, seconds by shape and tool."""
    figures: dict[str, Json] = {}
    with ExitStack() as stack:
        peers = {
            name: stack.enter_context(Runner(command, warm_up(seed) if name == "Kafka" else ()))
            for name, command in PEERS.items()
            if _available(name, command)
        }
        if groups:
            print(f"{groups} random groups", file=sys.stderr)
            tools = {
                OURS: partage_answer,
                **{name: peer_answers(each, limit) for name, each in peers.items()},
            }
            figures[QUALITY] = {str(groups): quality(tools, groups, seed)}
        for name in shapes:
            shape = SHAPES[name]
            print(f"{name}: {shape.description}", file=sys.stderr)
            figures[name] = seconds(shape, peers, limit, seed)
    return figures


def latest(figures: results.Figures) -> Json:
    """The figures for the tables: quality of the most groups, and shapes in order."""
    found: Json = {
        "seconds": {
            name: {tool: figures[name][tool] for tool in (OURS, *PEERS) if tool in figures[name]}
            for name in SHAPES
            if name in figures
        }
    }
    if QUALITY in figures:
        most = max(figures[QUALITY], key=int)
        found |= {"groups": int(most), "quality": figures[QUALITY][most]}
    return found


def _available(name: str, command: Callable[[], list[str]]) -> bool:
    try:
        command()
    except UnavailableError as problem:
        print(f"{name} is not available: {problem}", file=sys.stderr)
        return False
    return True


def warm_up(seed: int) -> list[Json]:
    """Small groups of both kinds, assigned many times so that Java compiles the code."""
    shapes = (
        Shape("", 10_000, 100, 100, "alike", ()),
        Shape("", 1_000, 20, 30, "random", ()),
    )
    groups = []
    for shape in shapes:
        topics, subscribed = shape.generate(seed)
        members = [{"id": at, "topics": of} for at, of in subscribed.items()]
        groups.append({"topics": topics, "members": members, "assignor": "sticky", "repeat": 20})
    return groups


if __name__ == "__main__":
    sys.exit(main())
