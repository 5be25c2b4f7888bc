"""The part of a history that is shown."""

from __future__ import annotations

import pytest

from partage.consumers.history import shortening
from partage.consumers.history.replay import replay, scenario_of
from partage.consumers.history.saving import KAFKA, saving_of
from partage.consumers.history.shortening import shortened
from tests.consumers.history.history_logs import CASES, one_group, recorded


@pytest.mark.parametrize("case", CASES[::4])
def test_totals_and_savings_are_those_of_the_whole(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = one_group(recorded(case))
    assert shortened(whole).left_out == {}
    for name, most in (("MEMBERS", 1), ("PARTITIONS", 9), ("SPANS", 1)):
        monkeypatch.setattr(shortening, name, most)
    part = shortened(whole)
    assert part.members == whole.members[:1]
    assert part.rounds == whole.rounds[: len(part.rounds)]
    assert part.owned == ()
    assert part.left_out == {
        "members": len(whole.members) - 1,
        "rounds": len(whole.rounds) - len(part.rounds),
        "spans": len(whole.owned),
    }
    assert part.to_json()["left_out"].keys() == {"members", "rounds"}
    for name in ("member_count", "round_count", "generation_count", "unowned", "moved", "topics"):
        assert getattr(part, name) == getattr(whole, name)
    found = {
        name: {protocol: replay(scenario_of(whole), name, protocol)}
        for name, protocol in KAFKA.items()
    }
    assert saving_of(part, found) == saving_of(whole, found)
    assert saving_of(whole, found) is not None
