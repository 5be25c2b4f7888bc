"""Shorten a history to the part of it that is shown, whose size has a limit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from partage.consumers.history.model import History, RecordedRound, Whole
from partage.consumers.history.saving import crash_seconds_of, used_by

MEMBERS = 1000
"""Most members, rounds, and sentences about what is unknown; the first are kept."""

PARTITIONS = 100_000
"""Most partitions that are listed in the rounds, which are fewer then."""

SPANS = 50_000
"""Most spans. Of more, none is kept: a picture of some of them would mislead."""


def shortened(history: History) -> History:
    """The history with its first members and rounds, and no spans if they are many. All totals are
    those of the whole."""
    return replace(
        history,
        members=history.members[:MEMBERS],
        rounds=tuple(_first(history.rounds)),
        owned=tuple(
            # the round is needed only to find out for how long a partition had no owner
            replace(span, round=None)
            for span in (history.owned if len(history.owned) <= SPANS else ())
        ),
        unknown=history.unknown[:MEMBERS],
        whole=Whole(
            members=history.member_count,
            rounds=history.round_count,
            generations=history.generation_count,
            spans=len(history.owned),
            used=used_by(history),
            crash_seconds=crash_seconds_of(history),
        ),
    )


def _first(rounds: Sequence[RecordedRound]) -> Iterator[RecordedRound]:
    listed = 0
    for one in rounds[:MEMBERS]:
        every = (one.assignment, one.added, one.revoked, one.lost)
        listed += sum(len(held) for kind in every for held in kind.values()) + len(one.unowned)
        if listed > PARTITIONS:
            return
        yield one
