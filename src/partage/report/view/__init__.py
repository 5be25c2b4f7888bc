"""From the plan.json document to everything that a reader sees, as arrays and finished sentences.

The terminal and the page show the same ``View``, so they cannot disagree. Nothing here decides:
the document's ``figures`` are taken as they stand, and what they do not hold (one broker's load,
who takes over from whom, who copies to whom) is counted from its replica lists.

The document is read part by part (``brokers``, ``stages``, ``waves``), its lists are counted
(``counting``, ``loads``), which makes the ``facts``; ``sentences`` and ``criteria`` are said of
them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from partage.brokers.directory import FORMAT_VERSION
from partage.errors import InputError
from partage.report.view import checking, sentences
from partage.report.view.brokers import brokers_of
from partage.report.view.counting import (
    movement,
    positions,
    takeovers,
    topic_counts,
    worst_survivor,
)
from partage.report.view.criteria import MARKS, Verdict, criteria_of
from partage.report.view.facts import Facts
from partage.report.view.loads import Load, loads_of, rack_positions, racks_of
from partage.report.view.stages import stages_of
from partage.report.view.waves import Wave, waves_of

__all__ = ["MARKS", "Load", "Verdict", "View", "Wave", "view"]


@dataclass(frozen=True, eq=False)
class View(Facts):
    """Everything shown of one plan: the facts, and what is said of them."""

    headline = cached_property(sentences.headline)
    effect = cached_property(sentences.effect)
    proof = cached_property(sentences.proof)
    fair_moves = cached_property(sentences.fair_moves)
    criteria = cached_property(criteria_of)
    meaning = cached_property(checking.meaning)


def view(document: Mapping[str, Any]) -> View:
    """The document as arrays and sentences. Raises InputError for another format's version."""
    version = document.get("format_version")
    if version != FORMAT_VERSION:
        raise InputError("plan.json", f"format_version {version!r}, expected {FORMAT_VERSION}")
    brokers = brokers_of(document["brokers"])
    topics = tuple(map(str, document["topics"]))
    columns = document["partitions"]
    topic = np.array(columns["topic"], dtype=np.int64)
    ids = np.array([broker.id for broker in brokers], dtype=np.int64)
    width = max(map(len, chain(columns["before"], columns["after"])), default=1)
    before = positions(columns["before"], ids, width)
    after = positions(columns["after"], ids, width)
    size = np.array(columns["size_bytes"], dtype=np.float64)  # None becomes NaN
    rates = columns.get("bytes_per_second")
    rate = None if rates is None else np.nan_to_num(np.array(rates, dtype=np.float64))

    alive = np.array([broker.alive for broker in brokers], dtype=np.bool_)
    usable = np.array([broker.usable for broker in brokers], dtype=np.bool_)
    capacity = np.array([broker.capacity for broker in brokers], dtype=np.float64)
    loads = loads_of(before, after, size, rate, usable, capacity)
    takeover, lost = takeovers(after, usable)
    racks = racks_of(brokers, loads)
    rack = rack_positions(brokers, racks)
    rack_takeover, rack_lost = takeovers(after, usable, rack)
    moved, moved_bytes = movement(before, after, alive, np.nan_to_num(size))
    return View(
        document=document,
        brokers=brokers,
        topics=topics,
        topic=topic,
        number=np.array(columns["partition"], dtype=np.int64),
        size=size,
        before=before,
        after=after,
        loads=loads,
        topic_before=topic_counts(before, topic, len(topics), len(brokers)),
        topic_after=topic_counts(after, topic, len(topics), len(brokers)),
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
        waves=waves_of(document.get("waves") or (), ids.tolist()),
        stages=stages_of(document.get("certificate") or {}),
    )
