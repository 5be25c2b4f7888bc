"""Meta's rebalancer: the model of ``--balance load`` with its solvers.

VARIANT is ``SOLVER TOLERANCE SECONDS``: ``local-search`` or ``mip``, the width of the bands as a
part of the fair share, and the time limit of the solver. A replica is an object, a broker a
container; the first replica of a list leads and adds what leading does. At most one replica of a
partition per broker and per rack is a constraint. The first goal is that no load is outside its
band, in fair shares; the second, few bytes moved. Here two replicas that change places count as
moved, so a change of the leader costs bytes.

Local search tries batches of random destinations and samples of exchanges, which reached the bands
fastest among its kinds of moves. MIP is HiGHS.
"""

from __future__ import annotations

from typing import Any

from exchange import Clock, request
from rebalancer import ProblemSolver

# the wheel takes the numbers of its enums
ABSOLUTE = AT_MOST = 1
AT_LEAST = HIGHS = 2

SAMPLE = 20
"""Replicas of each broker that an exchange tries."""


def loads(partition: dict[str, Any], place: int) -> dict[str, float]:
    """What the replica at a place of the list adds to its broker."""
    size = partition["size_bytes"]
    rate_in = partition.get("bytes_in_per_second", size)
    rate_out = partition.get("bytes_out_per_second", size)
    copies = len(partition["replicas"]) - 1
    leads = place == 0
    return {
        "replicas": 1,
        "disk": size,
        "in": rate_in,
        "leaders": leads,
        "out": leads * (rate_out + copies * rate_in),
        "leader_in": leads * rate_in,
    }


def pose(cluster: dict[str, Any], tolerance: float) -> ProblemSolver:
    """The problem without a solver."""
    brokers, partitions = cluster["brokers"], cluster["partitions"]
    on: dict[str, list[str]] = {str(broker["id"]): [] for broker in brokers}
    groups: dict[str, list[str]] = {}
    each: dict[str, dict[str, float]] = {}
    for i, partition in enumerate(partitions):
        groups[str(i)] = [f"{i}/{place}" for place in range(len(partition["replicas"]))]
        for place, broker in enumerate(partition["replicas"]):
            on[str(broker)].append(f"{i}/{place}")
            for name, load in loads(partition, place).items():
                each.setdefault(name, {})[f"{i}/{place}"] = load
    solver = ProblemSolver(service_name="partage", service_scope="benchmark")
    solver.set_log_level("ERR").disable_solution_summary()
    solver.set_object_name("replica").set_container_name("broker").set_assignment(on)
    solver.add_partition("partition", groups)
    solver.add_scope("rack", {str(broker["id"]): broker["rack"] for broker in brokers})
    for scope in ("broker", "rack"):
        solver.add_constraint(
            {
                "groupCountSpec": {
                    "name": f"one per {scope}",
                    "scope": scope,
                    "partitionName": "partition",
                    "bound": AT_MOST,
                    "limit": {"type": ABSOLUTE, "globalLimit": 1.0},
                }
            }
        )
    capacity = {str(broker["id"]): broker.get("capacity", 1) for broker in brokers}
    for name, load in each.items():
        whole = sum(load.values())
        share = {broker: one / sum(capacity.values()) for broker, one in capacity.items()}
        scaled = {replica: one / whole * len(brokers) for replica, one in load.items()}
        solver.add_object_dimension(name, scaled, 0.0)
        for bound, end in ((AT_MOST, 1 + tolerance), (AT_LEAST, 1 - tolerance)):
            limits = {broker: end * part * len(brokers) for broker, part in share.items()}
            solver.add_goal(
                {
                    "capacitySpec": {
                        "name": f"{name} {bound}",
                        "scope": "broker",
                        "dimension": name,
                        "bound": bound,
                        "limit": {"type": ABSOLUTE, "scopeItemLimits": limits},
                    }
                }
            )
    solver.add_goal_boundary()
    solver.add_goal(
        {
            "minimizeMovementSpec": {
                "name": "bytes moved",
                "scope": "broker",
                "dimension": "disk",
                "magicScaling": False,
                "doNotNormalize": True,
            }
        }
    )
    return solver


def main() -> None:
    asked = request()
    clock = Clock()
    name, tolerance, seconds = asked.variant.split()
    with clock.stage("read cluster"):
        cluster = asked.read()
    with clock.stage("model"):
        solver = pose(cluster, float(tolerance))
    if name == "mip":
        solver.add_solver(
            {"optimalSolverSpec": {"solveTime": int(seconds), "solverPackage": HIGHS}}
        )
    else:
        kinds = [
            {"singleRandomBatchesMoveTypeSpec": {}},
            {"swapMoveTypeSpec": {"sampleSize": {"defaultSampleSize": SAMPLE}}},
        ]
        solver.add_solver(
            {"localSearchSolverSpec": {"solveTime": int(seconds), "moveTypeList": kinds}}
        )
    with clock.stage("solve"):
        found = solver.solve()["assignment"]
    lists = [
        [int(found[f"{i}/{place}"]) for place in range(len(partition["replicas"]))]
        for i, partition in enumerate(cluster["partitions"])
    ]
    asked.reply(lists, clock)


if __name__ == "__main__":
    main()
