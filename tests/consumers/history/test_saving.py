"""What another assignor would have saved."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partage.consumers.history import History, RecordedRound
from partage.consumers.history.replay import cases, replay, scenario_of
from partage.consumers.history.saving import Saving, saving_of
from partage.consumers.simulation import simulate
from tests.consumers.history.history_logs import one_group, recorded
from tests.consumers.history.test_replay import WEEKS

PAIRS = {
    ("range", "eager"),
    ("roundrobin", "eager"),
    ("sticky", "eager"),
    ("cooperative-sticky", "cooperative"),
}


def history(observed: float, *used: tuple[str | None, str | None]) -> History:
    """With so many partition-seconds without an owner, and a round per (assignor, protocol)."""
    rounds = tuple(
        RecordedRound(at, at, protocol, assignor) for at, (assignor, protocol) in enumerate(used)
    )
    return replace(WEEKS, unowned={("t", 0): round(observed * 1e6)}, rounds=rounds)


def replays(**unowned: float) -> dict[str, dict[str, Any]]:
    """By assignor; under the protocol that it does not speak everything is free."""
    found: dict[str, dict[str, Any]] = {}
    for name, protocol in PAIRS:
        other = "eager" if protocol == "cooperative" else "cooperative"
        key = name.replace("-", "_")
        result = (
            {"unowned_partition_seconds": unowned[key]} if key in unowned else {"cannot": "why"}
        )
        found[name] = {protocol: result, other: {"unowned_partition_seconds": 0.0}}
    found["failover"] = {"eager": {"unowned_partition_seconds": 0.0}}
    return found


def test_a_saving() -> None:
    one = history(19.3, ("range", "eager"), ("range", "eager"))
    found = saving_of(one, replays(range=20.0, sticky=18.0, cooperative_sticky=3.2))
    assert found == Saving(
        "cooperative-sticky", pytest.approx(0.84), 3.2, pytest.approx(19.3), "range", 20.0, 0.0
    )
    assert found.sentence == (
        "cooperative-sticky would have saved 84 % of the 19.3 partition-seconds without an owner"
    )
    assert found.to_json()["saved"] == 0.84


@pytest.mark.parametrize(
    "used",
    [
        [("sticky", "eager")],
        [("range", "eager"), ("sticky", "eager")],
        [("mine", "eager")],
        [("range", "cooperative")],
        [(None, "eager")],
    ],
    ids=str,
)
def test_nothing_else_saves(used: list[tuple[str | None, str | None]]) -> None:
    found = saving_of(history(5.0, *used), replays(range=5.2, sticky=4.99))
    assert found is not None
    assert (found.assignor, found.saved) == ("sticky", 0)
    assert found.used == ("sticky" if used == [("sticky", "eager")] else None)
    assert found.sentence.startswith(
        "none of Kafka's assignors would have saved any of the 5.0 partition-s"
    )


@pytest.mark.parametrize("replayed", [6.0, 54.0, 0.0])
def test_a_replay_that_does_not_resemble_the_logs_saves_nothing(replayed: float) -> None:
    one = history(18.0, ("range", "eager"))
    own = replays(range=replayed, sticky=replayed / 2)
    own["uniform"] = {"consumer": {"unowned_partition_seconds": 1.0}}
    found = saving_of(one, own)
    assert found is not None
    assert (found.to_json()["saved"], found.to_json()["consumer_saved"]) == (None, None)
    assert found.sentence == (
        f"18.0 partition-seconds without an owner, but {replayed:.1f} in the replay of range, "
        "which the group used: the replay does not resemble the logs, so no saving is shown"
    )
    assert found.consumer_sentence == ""
    near = saving_of(one, replays(range=6.1, sticky=5.0))
    assert near is not None
    assert near.saved == pytest.approx(1 - 5 / 6.1)


def test_the_protocol_names_the_assignor() -> None:
    found = saving_of(history(3.1, (None, "cooperative")), replays(cooperative_sticky=3.0, range=1))
    assert found is not None
    assert (found.used, found.used_seconds) == ("cooperative-sticky", 3.0)
    assert found.saved == pytest.approx(2 / 3)


def test_waits_for_crashed_members() -> None:
    """Of the bundled logs: c crashes with three partitions, 6 s before the others go on."""
    one = one_group(recorded("java-eager-whole"))
    (crashed,) = (member for member in one.members if member.ended == "gone")
    held = [span for span in one.owned if span.member == crashed.id and span.end == crashed.ends]
    gaps = [
        min(
            after.start
            for after in one.owned
            if after.partition == span.partition and after.start >= span.end
        )
        - span.end
        for span in held
    ]
    found = saving_of(one, replays(range=1.0))
    assert found is not None
    assert len(held) == 3
    expected = sum(min(gap / 1e6, one.settings["session_timeout"]) for gap in gaps)
    assert found.crash_seconds == pytest.approx(expected)
    assert 0 < found.crash_seconds < found.observed_seconds


def test_without_a_gap_or_a_replay() -> None:
    assert saving_of(history(0.0), replays(range=1.0)) is None
    rounds = [("range", "eager")]
    assert saving_of(history(1.0, *rounds), {}) is None
    assert saving_of(history(1.0, *rounds), replays()) is None
    assert saving_of(history(1.0), replays(range=1.0)) is None


@given(
    st.floats(0.001, 1e6),
    st.dictionaries(st.sampled_from(sorted(PAIRS)), st.floats(0.001, 1e6), min_size=1),
    st.sampled_from([None, *sorted(PAIRS)]),
)
def test_no_other_assignor_saves_more(
    observed: float, unowned: dict[tuple[str, str], float], used: tuple[str, str] | None
) -> None:
    one = history(observed, used or (None, "eager"))
    found = saving_of(one, replays(**{k[0].replace("-", "_"): v for k, v in unowned.items()}))
    assert found is not None
    logged = one.unowned["t", 0] / 1e6
    baseline = unowned.get(used, logged) if used else logged
    if max(baseline, logged) >= 3 * min(baseline, logged):
        assert (found.saved, found.consumer_saved) == (None, None)
        return
    shares = [1 - value / baseline for value in unowned.values()]
    expected = max(shares)
    assert found.seconds == min(unowned.values())
    assert found.saved == pytest.approx(expected if expected >= 0.01 else 0.0)


def test_of_a_history_with_a_rolling_restart() -> None:
    """The replays are the simulations; the least of the four pairs is named."""
    scenario = scenario_of(WEEKS)
    own: dict[str, dict[str, Any]] = {}
    for assignor, protocol in cases():
        own.setdefault(assignor, {})[protocol] = replay(scenario, assignor, protocol)
    simulated = {pair: simulate(scenario, *pair).unowned for pair in sorted(PAIRS)}
    found = saving_of(history(1000.0, ("range", "eager")), own)
    assert found is not None
    assert found.seconds == pytest.approx(min(simulated.values()), abs=0.001)
    assert found.used_seconds == pytest.approx(simulated["range", "eager"], abs=0.001)
