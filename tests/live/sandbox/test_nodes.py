"""The layout of the brokers over the racks."""

from __future__ import annotations

from partage.live.sandbox import nodes


def test_racks_are_assigned_round_robin() -> None:
    def racks(brokers: int | None, names: list[str] | None) -> list[str | None]:
        return [node.rack for node in nodes.layout(brokers, names)]

    assert racks(5, ["a", "b", "c"]) == ["a", "b", "c", "a", "b"]
    assert racks(None, ["a", "b", "c", "d"]) == ["a", "b", "c", "d"]
    assert racks(None, ["a", "a"]) == ["a", "a", "a"]
    assert racks(None, None) == [None, None, None]
