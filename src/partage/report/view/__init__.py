"""A plan.json document as arrays and finished sentences.

Terminal and page show the same ``View``, so they cannot disagree. Nothing here decides: the
document's ``figures`` are shown as they are, and what they lack (the load of one broker, takeovers
after a failure, copies between two brokers) is counted from its replica lists.

``counting`` and ``loads`` count the lists; ``data`` holds the arrays; ``sentences``, ``criteria``,
``stages`` and ``checking`` put them into words.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from partage.brokers import plan_file
from partage.brokers.directory import MARKER
from partage.report.view import sentences
from partage.report.view.counting import (
    movement,
    positions,
    takeovers,
    topic_counts,
    worst_survivor,
)
from partage.report.view.criteria import MARKS, Rating, criteria_of
from partage.report.view.data import PlanData
from partage.report.view.loads import Load, known_loads, loads_of, rack_positions, racks_of

__all__ = ["MARKS", "Load", "Rating", "View", "view"]


class View(PlanData, frozen=True, eq=False, dict=True):
    """Everything shown of one plan: its arrays and the sentences about it."""

    headline = cached_property(sentences.headline)
    effect = cached_property(sentences.effect)
    failure_aim = cached_property(sentences.failure_aim)
    proof = cached_property(sentences.proof)
    fairest_moves = cached_property(sentences.fairest_moves)
    criteria = cached_property(criteria_of)

    @cached_property
    def meaning(self) -> tuple[str, ...]:
        """The certificate in three sentences; only a page shows them."""
        from partage.report.view.checking import meaning

        return meaning(self)

    @cached_property
    def gaps(self) -> tuple[tuple[str, str], ...]:
        """(name, text) of each figure that is above its lower bound; an optimal plan shows none."""
        from partage.report.view.stages import gaps

        return gaps(self)


def view(document: Mapping[str, Any], where: str = MARKER) -> View:
    """The view of a plan.json document; ``where`` names its file in errors.

    Raises InputError for a document that is not a plan of this format.
    """
    file = plan_file.parse(document, where)
    brokers, columns = file.brokers, file.partitions
    topics = len(file.topics)
    topic = np.array(columns.topic, dtype=np.int64)
    ids = np.array([broker.id for broker in brokers], dtype=np.int64)
    width = max(map(len, chain(columns.before, columns.after)), default=1)
    before = positions(columns.before, ids, width)
    after = positions(columns.after, ids, width)
    size = np.array(columns.size_bytes, dtype=np.float64)  # None becomes NaN
    to_copy = np.array(columns.to_copy, dtype=np.float64)
    rates = columns.bytes_per_second
    rate = None if rates is None else np.array(rates, dtype=np.float64)

    alive = np.array([broker.alive for broker in brokers], dtype=np.bool_)
    usable = np.array([broker.usable for broker in brokers], dtype=np.bool_)
    capacity = np.array([broker.capacity for broker in brokers], dtype=np.float64)
    figures = file.figures
    loads = known_loads(figures.before.resources, figures.after.resources) or loads_of(
        before, after, size, rate, usable, capacity
    )
    takeover, lost = takeovers(after, usable)
    racks = racks_of(brokers, loads)
    rack = rack_positions(brokers, racks)
    rack_takeover, rack_lost = takeovers(after, usable, rack)
    moved, moved_bytes = movement(before, after, alive, np.nan_to_num(to_copy))
    return View(
        file=file,
        topic=topic,
        number=np.array(columns.partition, dtype=np.int64),
        size=size,
        to_copy=to_copy,
        before=before,
        after=after,
        loads=loads,
        topic_before=topic_counts(before, topic, topics, len(brokers)),
        topic_after=topic_counts(after, topic, topics, len(brokers)),
        takeover=takeover,
        lost=lost,
        worst_before=worst_survivor(before, alive),
        worst_after=worst_survivor(after, usable),
        rack=rack,
        rack_takeover=rack_takeover,
        rack_lost=rack_lost,
        rack_worst_before=worst_survivor(before, alive, rack),
        rack_worst_after=worst_survivor(after, usable, rack),
        move_replicas=moved,
        move_bytes=moved_bytes,
        racks=racks,
    )
