"""Helpers for the tests of assignors."""

from __future__ import annotations

from partage import Assignment, Group, Member


def short(found: Assignment) -> dict[str, str]:
    """``{"C0": "t0-0 t1-2"}``."""
    return {
        member: " ".join(f"{topic}-{number}" for topic, number in held)
        for member, held in found.as_dict().items()
    }


def same(topics: dict[str, int], *ids: str) -> Group:
    """A group whose members subscribe to all topics."""
    return Group(topics, [Member(member, list(topics)) for member in ids])


def without(group: Group, found: Assignment, *gone: str) -> Group:
    """The group after some members left; the others rejoin with their partitions."""
    return Group(
        group.topics,
        [
            Member(m.id, m.topics, owned=found.of(m.id), generation=1)
            for m in group.members
            if m.id not in gone
        ],
    )


NESTED = Group(
    {"t0": 1, "t1": 2, "t2": 3},
    [
        Member("C0", ["t0"]),
        Member("C1", ["t0", "t1"]),
        Member("C2", ["t0", "t1", "t2"]),
    ],
)
