"""Which partitions a member keeps and gets first, and how often topics are spread evenly by that
alone."""

from __future__ import annotations

import random
from typing import Any

import pytest

from partage import Assignment, Group, Member, assign
from partage.consumers import exact_assignment, first_choice
from tests.oracles.groups import small_group, unevenness, value
from tests.profiles import seeds

Counted = tuple[list[int], int, int, int]


def measured(group: dict[str, Any]) -> Counted:
    """Loads, partitions across racks, moves and the sum of squares of topics."""
    found = assign(Group.from_json(group), "sticky").as_dict()
    return (*value(group, found), unevenness(found))


@pytest.mark.random
@pytest.mark.parametrize("seed", seeds(4))
def test_chosen_one_by_one_or_in_turn_all_is_as_good(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = random.Random(seed)
    groups = [small_group(draw, most=40) for _ in range(150)]
    one_by_one = [measured(group) for group in groups]
    monkeypatch.setattr(first_choice, "FEW", 0)
    assert [measured(group) for group in groups] == one_by_one


def test_many_are_given_in_turn() -> None:
    """Each label's partitions go round by round to the members that are still due, those that get
    most first."""
    label = first_choice.np.array([1, 0, 0, -1, 0, 1, 0, 0])
    answer = first_choice.np.array([-1, -1, 9, -1, -1, -1, -1, -1])
    of_arc, member = first_choice.np.array([[0, 0, 0, 1, 1], [0, 1, 2, 1, 2]])
    first_choice.give_in_turn(label, of_arc, member, first_choice.np.array([1, 3, 0, 1, 1]), answer)
    assert answer.tolist() == [1, 1, 9, -1, 0, 2, 1, 1]


def rejoined(found: Assignment, leave: int = 0, join: int = 0) -> Group:
    """The same group with what its members own, after some left or joined."""
    members = [
        Member(m.id, m.topics, owned=found.partitions_of(at), generation=1)
        for at, m in enumerate(found.group.members)
    ]
    new = [Member(f"new{at}", members[0].topics) for at in range(join)]
    return Group(found.group.topics, members[leave:] + new)


@pytest.mark.parametrize(
    ("topics", "count", "members"),
    [(40, 50, 100), (100, 20, 200), (7, 60, 9), (25, 100, 50)],
)
def test_a_group_of_one_subscription_needs_no_search(
    topics: int, count: int, members: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When all join, one leaves or one joins, the first choice spreads every topic evenly."""

    def refused(*_: Any) -> None:
        raise AssertionError("topics are spread evenly by the first choice")

    monkeypatch.setattr(exact_assignment, "_spread", refused)
    names = [f"t{number}" for number in range(topics)]
    group = Group(
        dict.fromkeys(names, count), [Member(f"c{at:03}", names) for at in range(members)]
    )
    found = assign(group, "sticky")
    for changed in (rejoined(found, leave=1), rejoined(found, join=1)):
        again = assign(changed, "sticky")
        for topic in range(topics):
            held = first_choice.counted_cells(changed, again.owner)[topic]
            assert held.max() - held.min() <= 1
        assert again.loads.max() - again.loads.min() <= 1
