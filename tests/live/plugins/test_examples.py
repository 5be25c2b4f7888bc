"""The example of the pages about groups: real groups restart and fail over, and are simulated."""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from partage.consumers.scenario import Scenario
from partage.consumers.simulation import simulate
from tests.scripts import loaded

pytest.importorskip("kafka")
pytest.importorskip("confluent_kafka")

pytestmark = [pytest.mark.long, pytest.mark.kafka]

PATH = Path(__file__).parents[3] / "docs" / "examples" / "live_groups.py"
HEARTBEAT, SESSION = 0.5, 6.0
PARTITIONS = 6


example: Any = loaded(PATH)


@pytest.fixture(scope="module")
def results(kafka: Any) -> dict[str, Future[Any]]:
    """All of them at the same time: they mostly wait."""
    settings = example.Settings(members=3, partitions=PARTITIONS, heartbeat=HEARTBEAT)
    hasty = replace(settings, session=SESSION)
    jobs = {way.name: (example.deploy, way) for way in example.DEPLOYS["kafka-python"]}
    jobs["librdkafka"] = (example.deploy, example.DEPLOYS["confluent"][1])
    jobs["librdkafka, consumer"] = (example.deploy, example.DEPLOYS["confluent"][3])
    jobs["java"] = (example.deploy, example.DEPLOYS["java"][1])
    jobs["java, consumer"] = (example.deploy, example.DEPLOYS["java"][3])
    jobs["librdkafka, upgrade"] = (example.upgrade, example.UPGRADES["confluent"][0])
    jobs["java, upgrade"] = (example.upgrade, example.UPGRADES["java"][1])
    jobs |= {"closed": (example.failover, False), "killed": (example.failover, True)}
    with ThreadPoolExecutor(3) as pool:
        migration = pool.submit(example.migrate, kafka.bootstrap_servers, settings)
        return {"migration": migration} | {
            name: pool.submit(
                run, kafka.bootstrap_servers, what, hasty if run is example.failover else settings
            )
            for name, (run, what) in jobs.items()
        }


DEPLOYS = [
    "sticky, eager",
    "cooperative-sticky",
    "cooperative-sticky, static",
    "librdkafka",
    "librdkafka, consumer",
    "java",
    "java, consumer",
    "librdkafka, upgrade",
    "java, upgrade",
]


@pytest.mark.parametrize("name", DEPLOYS)
def test_the_scenario_has_the_restart_of_every_member(
    results: dict[str, Future[Any]], name: str
) -> None:
    found = results[name].result()
    members = found.scenario["members"]
    first, again = members[:3], members[3:]
    assert [one["joins_at"] for one in first] == [0.0] * 3
    assert all(
        one["leaves_at"] < other["joins_at"] for one, other in zip(first, again, strict=True)
    )
    assert ["leaves_at" in one for one in again] == [False] * 3
    assert set(found.measured) == set(found.simulated)
    assert len(found.measured) == 6


def test_only_a_static_members_own_partitions_pause(results: dict[str, Future[Any]]) -> None:
    """In the simulation as long as the member is away; measured, at least a third of that, because
    on a busy machine a member that is asked to stop continues for a while."""
    found = results["cooperative-sticky, static"].result()
    members = found.scenario["members"]
    gone = sorted(
        round(again["joins_at"] - first["leaves_at"], 2)
        for first, again in zip(members[:3], members[3:], strict=True)
    )
    simulated = sorted(seconds for pauses in found.simulated.values() for seconds in pauses)
    assert simulated == pytest.approx(sorted(gone * 2), abs=0.02)
    for name, pauses in found.simulated.items():
        assert len(pauses) == 1, "each partition pauses for its own member only"
        assert max(found.measured[name]) > pauses[0] / 3


def test_a_standby_takes_over_and_a_crash_costs_the_session(
    results: dict[str, Future[Any]],
) -> None:
    """The standby hears of the closed member with its next heartbeat: at once if it leaves then."""
    closed, killed = (results[name].result() for name in ("closed", "killed"))
    left = closed.scenario["members"][0]["leaves_at"]
    waits = round((example.INITIAL_DELAY - left) % HEARTBEAT, 2)
    pause = [pytest.approx(waits, abs=0.02)] if waits else []
    assert list(closed.simulated.values()) == [pause] * 6
    assert [len(pauses) for pauses in killed.simulated.values()] == [1] * 6
    # the killed member's last heartbeat was at most one interval ago
    assert min(max(pauses) for pauses in killed.measured.values()) > SESSION - 2 * HEARTBEAT
    assert example.longest(killed.simulated) > SESSION - 2 * HEARTBEAT


@pytest.mark.parametrize("name", ["librdkafka, upgrade", "java, upgrade"])
def test_restarted_members_convert_the_group_to_the_consumer_protocol(
    results: dict[str, Future[Any]], name: str
) -> None:
    """As in the simulation up to a heartbeat of the consumer protocol, which a busy machine may
    miss."""
    found = results[name].result()
    simulated = simulate(Scenario.from_json(found.scenario))
    assert simulated.violations == ()
    assert not simulated.refused
    assert {m["config"]["group.protocol"] for m in found.scenario["members"][3:]} == {"consumer"}
    assert abs(example.longest(found.measured) - example.longest(found.simulated)) < 6


def test_the_broker_does_not_convert_librdkafkas_cooperative_groups(kafka: Any) -> None:
    """Its assignments have user data from the second rebalance on: a member that joins with the
    consumer protocol gets nothing, and in the simulation it is rejected."""
    way = replace(example.UPGRADES["confluent"][0], assignor="cooperative-sticky")
    settings = example.Settings(partitions=PARTITIONS, heartbeat=HEARTBEAT)
    with example.group(kafka.bootstrap_servers, way, settings) as running:
        first = running.join("first")
        running.traffic.wait_until(lambda: len(first.owned) == PARTITIONS)
        running.begin()
        second = running.join("second")
        running.traffic.wait_until(lambda: bool(second.owned))
        running.traffic.wait_until_stable()
        third = running.join("third", assignor="uniform")
        running.traffic.wait_until(lambda: third.joined is not None)
        time.sleep(4.0)
        assert not third.owned
        assert first.owned | second.owned == running.traffic.partitions
        scenario = running.result("refused").scenario
    (refused,) = simulate(Scenario.from_json(scenario), "cooperative-sticky").refused.values()
    assert refused.startswith("GROUP_ID_NOT_FOUND")


def test_two_rolling_restarts_make_a_group_cooperative(results: dict[str, Future[Any]]) -> None:
    """The members revoke as many partitions as in the simulation, up to those of one round: a busy
    machine may need one more. No member is turned away but the member that skips a step, and it is
    in the simulation, too."""
    found = results["migration"].result()
    measured, simulated = zip(*found.revoked, strict=True)
    for one, other in found.revoked:
        assert abs(one - other) <= PARTITIONS, found.revoked
    assert measured[1] < measured[0]
    assert simulated[1] < simulated[0]
    client, coordinator = found.rejected
    assert client.startswith("InconsistentGroupProtocolError")
    assert coordinator.startswith("INCONSISTENT_GROUP_PROTOCOL")
    assert max(max(pauses) for pauses in found.result.measured.values()) >= HEARTBEAT / 2


def test_the_table_has_a_row_for_each(
    results: dict[str, Future[Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    found = [results[name].result() for name in DEPLOYS[:3]]
    example.show(found)
    lines = capsys.readouterr().out.splitlines()
    assert [line[:32].strip() for line in lines] == ["", "", *DEPLOYS[:3]]
    longest = f"{example.longest(found[0].measured):.1f} s"
    assert longest in lines[2]
