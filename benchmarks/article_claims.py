"""What the survey claims, claim by claim, judged by the figures of ``article.py``.

The claims are the survey's, in our words. A verdict stands only as long as its condition holds: if
the figures change so that it does not, no page is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from partage.report import units

Row = Mapping[str, Any]
Verdict = Literal["confirmed", "in part", "corrected"]


@dataclass(frozen=True)
class Claim:
    """One claim: the criterion and the article's answer in a word or two (both empty where it is of
    another kind), what is said, what was measured, the verdict, why, and whether the figures bear
    the verdict out."""

    criterion: str
    answer: str
    says: str
    measured: str
    verdict: Verdict
    why: str
    holds: bool


@dataclass(frozen=True)
class Tool:
    """One tool of the survey, the strategy that stands for it, and where the two differ."""

    name: str
    strategy: str
    differs: str
    claims: tuple[Claim, ...]


@dataclass(frozen=True)
class Figures:
    """All that was measured: ``jobs[size, job][strategy]``, ``trials[strategy]`` (an
    ``article.Tally``), ``growth[brokers][strategy]``, ``storage``: bin-packing by bytes."""

    jobs: Mapping[tuple[str, str], Mapping[str, Row]]
    trials: Mapping[str, Any]
    growth: Mapping[int, Mapping[str, Row]]
    storage: Row


def replicas(row: Row) -> str:
    return units.span(row["replicas_per_broker"])


def leaders(row: Row) -> str:
    return units.span(row["leaders_per_broker"])


def moves(row: Row) -> str:
    return f"{units.count(row['moves'])}/{units.count(row['moves_lower_bound'])}"


def worst(row: Row) -> int:
    return int(row["leaders_after_failure"]["max"])


def width(row: Row, key: str) -> int:
    low, high = row[f"{key}_per_broker"]
    return int(high - low)


def tools(figures: Figures) -> list[Tool]:
    """Every claim with its figures."""
    grown, shrunk, scattered = (
        figures.jobs["middle", job] for job in ("grown", "shrunk", "scattered")
    )
    large, trials = figures.jobs["large", "grown"], figures.trials
    every = [row for rows in figures.jobs.values() for row in rows.values()]
    answers = trials["exact"].answers
    exact = grown["exact"]

    def deterministic(strategy: str, why: str, verdict: Verdict = "confirmed") -> Claim:
        rows = [rows[strategy] for rows in figures.jobs.values() if "moves" in rows[strategy]]
        settled = trials[strategy].settled
        return Claim(
            "determinism",
            "yes",
            "Gives the same output every time.",
            f"the same bytes from shuffled input in {len(rows)} of {len(rows)} jobs; settled in "
            f"{settled} of {trials[strategy].answers} trials",
            verdict,
            why,
            all(row["deterministic"] for row in rows),
        )

    def failure(strategy: str, rows: Mapping[str, Row], job: str, why: str) -> Claim:
        return Claim(
            "failure",
            "no",
            "Does nothing for the leaders after a broker's failure.",
            f"middle, {job}: {worst(rows[strategy])} on the worst survivor; `exact`: "
            f"{worst(rows['exact'])}",
            "confirmed",
            why,
            worst(rows[strategy]) > worst(rows["exact"]),
        )

    kafka = Tool(
        "kafka-reassign-partitions.sh",
        "generate",
        "The tool of Kafka 4.1 to 4.3; its random starts come from a fixed seed.",
        (
            Claim(
                "",
                "",
                "Does not look at today's placement: everything moves about.",
                f"middle, grown: {moves(grown['generate'])} moves, where "
                f"{units.count(exact['moves'])} are enough for the fairest share",
                "confirmed",
                "Every topic is laid out anew.",
                grown["generate"]["moves"] > 4 * exact["moves"],
            ),
            Claim(
                "",
                "",
                "For a new broker it is enough that each old one gives a share.",
                f"middle, grown: {moves(exact)} moves fill 6 of 30 brokers with {replicas(exact)} "
                "each",
                "confirmed",
                "The bound is what the new brokers must get: nothing else moves.",
                exact["moves"] == exact["moves_lower_bound"] == 6 * 90,
            ),
        ),
    )
    greedy = Tool(
        "dimas/kafka-reassign-tool",
        "greedy",
        "Partitions come in ascending order; the tool takes them as Kafka's tool prints them, and "
        "breaks ties by its hash.",
        (
            Claim(
                "storage",
                "by count",
                "Evens out replicas per broker, whatever their topic.",
                f"middle, scattered: {replicas(scattered['greedy'])} per broker before and after; "
                f"grown: {replicas(grown['greedy'])}",
                "corrected",
                "Its script counts by topic, and only chooses where a replica goes that must be "
                "placed. What has a place keeps it.",
                grown["greedy"]["replicas_per_broker"][0] == 0
                and scattered["greedy"]["moves"] == 0,
            ),
            Claim(
                "racks",
                "no",
                "Knows no racks.",
                f"middle, shrunk: {shrunk['greedy']['rack_violations']} partitions break the rule, "
                "none before",
                "confirmed",
                "Racks are not read.",
                shrunk["greedy"]["rack_violations"] > 0,
            ),
            Claim(
                "moves",
                "yes",
                "Moves little.",
                f"middle, grown: {moves(grown['greedy'])} moves; shrunk: {moves(shrunk['greedy'])}",
                "in part",
                "A broker is emptied with as few moves as there can be, fewer than an even share "
                "within the racks takes. A new one stays empty.",
                grown["greedy"]["moves"] == 0
                and 0 < shrunk["greedy"]["moves"] <= shrunk["exact"]["moves"],
            ),
            Claim(
                "leaders",
                "yes, not perfectly",
                "Evens out leaders, not always perfectly.",
                f"middle, scattered: {leaders(scattered['greedy'])}; even in "
                f"{trials['greedy'].leaders} of {answers} trials",
                "confirmed",
                "One pass, by topic, and only below the topic's share rounded down.",
                width(scattered["greedy"], "leaders") > 1,
            ),
            deterministic(
                "greedy",
                "But a second run may hand leaders back: what the author finds more important "
                "fails.",
            ),
            failure("greedy", scattered, "scattered", "Who follows first is left as it comes."),
        ),
    )
    rack_greedy = Tool(
        "SiftScience/kafka-assigner",
        "rack-greedy",
        "Topics come by name; too many replicas, which the tool would write down when a factor is "
        "lowered, are refused.",
        (
            Claim(
                "storage",
                "by count",
                "Evens out replicas per broker, whatever their topic.",
                f"middle, grown: {replicas(grown['rack-greedy'])} per broker; even in "
                f"{trials['rack-greedy'].replicas} of {trials['rack-greedy'].answers} trials",
                "corrected",
                "Each topic has its own limit, its replicas over the brokers rounded up; below it "
                "nothing moves. Over many topics that adds up.",
                width(grown["rack-greedy"], "replicas") > 10,
            ),
            Claim(
                "racks",
                "yes",
                "Keeps to the racks.",
                f"middle, scattered: {scattered['rack-greedy']['rack_violations']} violations; no "
                f"answer for middle, shrunk, large, grown, and "
                f"{answers - trials['rack-greedy'].answers} of {answers} trials",
                "in part",
                "Two replicas never share a rack, and no choice is taken back: the last partitions "
                "may find no place.",
                scattered["rack-greedy"]["rack_violations"] == 0
                and "cannot" in shrunk["rack-greedy"]
                and "cannot" in large["rack-greedy"],
            ),
            Claim(
                "moves",
                "yes",
                "Moves little.",
                f"middle, scattered: {moves(scattered['rack-greedy'])} moves; grown: "
                f"{moves(grown['rack-greedy'])}, for "
                f"{replicas(grown['rack-greedy'])} replicas per broker",
                "in part",
                "What fits stays. But it moves more than an even share needs, or stays uneven.",
                scattered["rack-greedy"]["moves"] > scattered["rack-greedy"]["moves_lower_bound"]
                and width(grown["rack-greedy"], "replicas") > 1,
            ),
            Claim(
                "leaders",
                "yes, not perfectly",
                "Evens out leaders, not always perfectly.",
                f"middle, grown: {leaders(grown['rack-greedy'])}; even in "
                f"{trials['rack-greedy'].leaders} of {trials['rack-greedy'].answers} trials",
                "confirmed",
                "A list's order is chosen partition by partition.",
                width(grown["rack-greedy"], "leaders") > 1,
            ),
            deterministic("rack-greedy", "A hash of the topic's name is all the chance there is."),
            failure("rack-greedy", grown, "grown", "Second places are counted, but not by leader."),
        ),
    )
    bin_packing = Tool(
        "DataDog/kafka-kit, topicmappr rebuild",
        "bin-packing",
        "Go's shuffle among equal brokers is not rebuilt, another seeded one takes its place.",
        (
            Claim(
                "storage",
                "by count or bytes",
                "Packs by count or by storage, as asked.",
                f"middle, grown, fullest broker over mean: "
                f"{units.decimal(grown['bin-packing']['bytes_max_over_mean'])} by count, "
                f"{units.decimal(figures.storage['bytes_max_over_mean'])} by storage",
                "confirmed",
                "The largest partitions first, each to the broker with most room: hard to beat, "
                "where everything may move.",
                figures.storage["bytes_max_over_mean"] < 1.05,
            ),
            Claim(
                "racks",
                "yes",
                "Keeps to the racks.",
                f"middle, grown and shrunk: {grown['bin-packing']['rack_violations']} violations; "
                f"scattered: {scattered['bin-packing']['rack_violations']}, as before",
                "in part",
                "What it places keeps to them. What stays is not looked at.",
                grown["bin-packing"]["rack_violations"] == 0
                and shrunk["bin-packing"]["rack_violations"] == 0
                and scattered["bin-packing"]["rack_violations"] > 0,
            ),
            Claim(
                "moves",
                "yes",
                "Moves little.",
                f"middle, shrunk: {moves(shrunk['bin-packing'])} moves; grown: "
                f"{moves(grown['bin-packing'])}",
                "in part",
                "A broker is emptied with as few as there can be. New brokers get nothing unless "
                "it is forced to place everything anew.",
                shrunk["bin-packing"]["moves"] <= shrunk["exact"]["moves"]
                and grown["bin-packing"]["moves"] > 4 * exact["moves"],
            ),
            Claim(
                "leaders",
                "yes, not perfectly",
                "Evens out leaders, not always perfectly.",
                f"middle, shrunk: {leaders(shrunk['bin-packing'])}; grown: "
                f"{leaders(grown['bin-packing'])}",
                "confirmed",
                "Perfect where all is placed anew, else whoever takes a place leads as its "
                "predecessor did.",
                width(shrunk["bin-packing"], "leaders") > 1
                and width(grown["bin-packing"], "leaders") <= 1,
            ),
            deterministic("bin-packing", "The tool's own shuffle has a fixed seed, too."),
            failure("bin-packing", shrunk, "shrunk", "First followers are drawn by load alone."),
        ),
    )
    ratio = {
        n: rows["permutation"]["moves"] / rows["exact"]["moves"]
        for n, rows in figures.growth.items()
    }
    few, many = min(ratio), max(ratio)
    mip = Tool(
        "everpeace/kafka-reassign-optimizer",
        "mip",
        "HiGHS solves the program in place of lp_solve; the window of loads is worked out exactly.",
        (
            Claim(
                "storage",
                "by count",
                "Evens out replicas per broker, whatever their topic.",
                f"middle, shrunk: {replicas(shrunk['mip'])} per broker; even in "
                f"{trials['mip'].replicas} of {trials['mip'].answers} trials",
                "in part",
                "Each broker holds 0.9 to 1.0 of the average, rounded outwards, and the solver "
                "uses that.",
                0 < trials["mip"].replicas < trials["mip"].answers,
            ),
            Claim(
                "racks",
                "no",
                "Knows no racks.",
                f"middle, grown: {grown['mip']['rack_violations']} partitions break the rule, none "
                "before",
                "confirmed",
                "The program has no rows for them.",
                grown["mip"]["rack_violations"] > 0,
            ),
            Claim(
                "moves",
                "yes",
                "Moves little.",
                f"middle, grown: {moves(grown['mip'])} moves; scattered: {moves(scattered['mip'])}",
                "confirmed",
                "Fewest for its own rules, proven by the solver; fewer than our bound, since ours "
                "keeps to the racks and to an even share.",
                grown["mip"]["moves"] == exact["moves"]
                and scattered["mip"]["moves"] < scattered["exact"]["moves"],
            ),
            Claim(
                "leaders",
                "no",
                "Does not balance leaders.",
                f"middle, grown: {leaders(grown['mip'])}; no answer in "
                f"{answers - trials['mip'].answers} of {answers} trials",
                "confirmed",
                "Leaders are fixed where they are; where one broker leads more than it may hold, "
                "there is no solution.",
                grown["mip"]["leader_changes"] == 0 and trials["mip"].answers < answers,
            ),
            deterministic("mip", "As deterministic as its solver: HiGHS has a fixed seed."),
            failure("mip", grown, "grown", "Not even leaders are balanced."),
            Claim(
                "",
                "",
                "Runs out of memory on large clusters.",
                f"large, grown: {large['mip'].get('cannot', 'an answer')}",
                "in part",
                "A variable for every partition and broker. lp_solve was not run; HiGHS takes some "
                "800 MB for the 500,000 at which we stop.",
                "variables" in large["mip"].get("cannot", ""),
            ),
        ),
    )
    permutation = Tool(
        "The author's earlier method",
        "permutation",
        "Never published. For replication factors above 2 the order of the lists is ours.",
        (
            Claim(
                "storage",
                "by count",
                "Replicas are even, in the worst case a little less than with other tools.",
                f"even in {trials['permutation'].replicas} of {answers} trials, and never more "
                f"than {trials['permutation'].widest} apart",
                "confirmed",
                "An incomplete last line of lists leaves up to the replication factor between "
                "brokers.",
                trials["permutation"].widest == 3,
            ),
            Claim(
                "racks",
                "no",
                "Knows no racks.",
                f"middle, grown: {grown['permutation']['rack_violations']} partitions break the "
                "rule, none before",
                "confirmed",
                "The lists are laid out without them.",
                grown["permutation"]["rack_violations"] > 0,
            ),
            Claim(
                "moves",
                "with few brokers",
                "Moves little with few brokers, much with many.",
                f"{ratio[few]:.1f} times the fewest moves when {few} brokers become {few + 1}, "
                f"{ratio[many]:.1f} times from {many} to {many + 1}",
                "confirmed",
                "The more lists there are, the fewer of today's are among those laid out.",
                ratio[few] < 1.1 and ratio[many] > 4,
            ),
            Claim(
                "leaders",
                "yes",
                "Balances leaders.",
                f"even in {trials['permutation'].leaders} of {answers} trials",
                "confirmed",
                "By the order in which the lists are taken.",
                trials["permutation"].leaders == answers,
            ),
            deterministic("permutation", "Nothing is drawn, and a second run changes nothing."),
            Claim(
                "failure",
                "yes",
                "Keeps leaders even after a broker's failure.",
                f"middle, grown: {worst(grown['permutation'])} on the worst survivor, `exact` "
                f"{worst(exact)}; as good as `exact` in {trials['permutation'].failure} of "
                f"{answers} trials",
                "confirmed",
                "The followers' distance from the leader grows from line to line.",
                worst(grown["permutation"]) == worst(exact),
            ),
        ),
    )
    leader_flow = Tool(
        "Pinterest's maximum flow",
        "leader-flow",
        "How Pinterest joins the two residue nodes is not known to us: our capacities leave alone "
        "what is even.",
        (
            Claim(
                "",
                "",
                "Gave the best leaders on some hundred test clusters.",
                f"the best that the replica sets allow in {trials['leader-flow'].led} of {answers} "
                "trials",
                "in part",
                "Always the best where the sets allow an even share. Where they do not, a broker "
                "at the average takes nothing from one far above it.",
                trials["leader-flow"].leaders <= trials["leader-flow"].led < answers,
            ),
            Claim(
                "",
                "",
                "Moves no data, so that other tools must fill new brokers.",
                f"middle, grown: {grown['leader-flow']['moves']} moves; "
                f"{replicas(grown['leader-flow'])} replicas per broker",
                "confirmed",
                "It changes the order of lists.",
                grown["leader-flow"]["moves"] == 0,
            ),
        ),
    )
    flows = trials["three-flows"]
    three_flows = Tool(
        "The author's three flows",
        "three-flows",
        "Described, not published. What the residue nodes carry, chains, racks and lower "
        "replication factors are ours.",
        (
            Claim(
                "storage",
                "by count",
                "The first flow gave even replicas in all tests.",
                f"even in {flows.replicas} of {answers} trials",
                "confirmed",
                "Without racks and with all topics. With them see the open problems.",
                flows.replicas == answers,
            ),
            Claim(
                "moves",
                "yes",
                "Moves little.",
                f"fewest in {flows.moves} of {answers} trials; middle, grown: "
                f"{moves(grown['three-flows'])}; scattered: {moves(scattered['three-flows'])}",
                "in part",
                "A maximum flow does not count moves, and the residue nodes take more from brokers "
                "above the average than must go.",
                grown["three-flows"]["moves"] == exact["moves"] and 0 < flows.moves < answers,
            ),
            Claim(
                "racks",
                "yes",
                "Keeps to the racks (so the summary; the text says: not yet, but it could).",
                f"middle, scattered: {scattered['three-flows']['rack_violations']} violations, "
                f"{scattered['greedy']['rack_violations']} before",
                "confirmed",
                "A network for it exists: ours has a node for each rack of each partition.",
                not any(
                    rows["three-flows"].get("rack_violations") for rows in figures.jobs.values()
                ),
            ),
            Claim(
                "leaders",
                "yes",
                "The second flow evens out leaders and moves nothing.",
                f"even in {flows.leaders} of {answers} trials",
                "confirmed",
                "On replica sets that the first flow has spread, even leaders are nearly always "
                "to be had.",
                flows.leaders == answers,
            ),
            Claim(
                "determinism",
                "no, but could be",
                "Moves again on a second run, unless it first looks whether all is even; so its "
                "output is not deterministic.",
                f"with that look, settled in {flows.settled} of {answers} trials, but not in every "
                "job with racks; the same bytes from shuffled input in all",
                "in part",
                "Of loads 2, 2, 1 and 1 the residue nodes would carry one unit. A flow of whole "
                "numbers, always laid out in the same order, is deterministic.",
                flows.settled == answers,
            ),
            Claim(
                "",
                "",
                "Raises a replication factor with one node more.",
                "the article's figure: 3, 3, 3, 3 in six moves, four of them new replicas",
                "confirmed",
                "Each partition gets what it lacks from that node.",
                True,
            ),
            Claim(
                "",
                "",
                "Fails to lower one where all replicas of a partition are on the sink's side.",
                "ours reaches every factor, the loads even",
                "confirmed",
                "Brokers below the average give nothing. With chains they may, when another "
                "replica comes for it.",
                True,
            ),
            Claim(
                "failure",
                "yes",
                "The third flow improves first followers, short of perfection.",
                f"as good as `exact` in {flows.failure} of {answers} trials; middle, grown: "
                f"{worst(grown['three-flows'])} on the worst survivor, `exact` {worst(exact)}",
                "confirmed",
                "Even pairs are not yet even leaders after a failure, and the first flow leaves "
                "sets behind that have the same brokers together again and again.",
                0 < flows.failure < answers and worst(grown["three-flows"]) > worst(exact),
            ),
            Claim(
                "",
                "",
                "The third flow works with more than two replicas only.",
                "two replicas, 6 brokers, 300 partitions: `exact` has 63 on the worst survivor, "
                "proven the least; even followers alone would promise 60",
                "confirmed",
                "With two, whoever leads decides who follows: leaders and followers have to be "
                "chosen together.",
                True,
            ),
            Claim(
                "",
                "",
                "There is no proof, and extreme cases may be exceptions.",
                "such cases are found for moves, replicas, leaders and failures",
                "confirmed",
                "Found by searching, each with an exact plan that is proven better: see below.",
                True,
            ),
        ),
    )
    assert all(row["deterministic"] for row in every if "moves" in row)
    return [
        kafka,
        greedy,
        rack_greedy,
        bin_packing,
        mip,
        permutation,
        leader_flow,
        three_flows,
    ]


CRITERIA = ("storage", "racks", "moves", "leaders", "determinism", "failure")
MARKS: dict[Verdict, str] = {"confirmed": "✓", "in part": "◐", "corrected": "✗"}


def overview(found: list[Tool]) -> str:
    """The article's table: its answers by tool and criterion, with our verdicts."""
    lines = [f"| tool | {' | '.join(CRITERIA)} |", "| --- |" + " --- |" * len(CRITERIA)]
    for tool in found:
        cell = {c.criterion: f"{c.answer} {MARKS[c.verdict]}" for c in tool.claims}
        if set(CRITERIA) <= set(cell):
            lines.append(f"| {tool.name} | {' | '.join(cell[name] for name in CRITERIA)} |")
    return "\n".join(lines)


def claims_block(figures: Figures) -> str:
    """Every tool with a table of its claims. ValueError where a verdict is not borne out."""
    found = tools(figures)
    every = [claim for tool in found for claim in tool.claims]
    for claim in every:
        if not claim.holds:
            raise ValueError(f"the verdict does not hold any more: {claim}")
    count = {v: sum(c.verdict == v for c in every) for v in ("confirmed", "in part", "corrected")}
    parts = [
        f"Of {len(every)} claims {count['confirmed']} are confirmed, {count['in part']} hold in "
        f"part, and {count['corrected']} are corrected.",
        "The article's own table, its answers with our verdicts (✓ confirmed, ◐ in part, "
        "✗ corrected):",
        overview(found),
    ]
    for tool in found:
        parts.append(f"### {tool.name}: `{tool.strategy}`")
        parts.append(f"Differs from the original: {tool.differs}")
        lines = ["| claim | measured | verdict | reason |", "| --- | --- | --- | --- |"]
        lines += [f"| {c.says} | {c.measured} | **{c.verdict}** | {c.why} |" for c in tool.claims]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)
