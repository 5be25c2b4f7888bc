"""Rebalance history out of consumers' logs: lines → events → members → rounds, owners, gaps.

``clients/`` knows how each client words its lines (one file each, a registry in its
``__init__.py``), ``members.py`` whose each line is, ``groups.py`` what it comes to, and
``replay.py`` what other assignors and protocols would have made of the same members.
"""

from partage.consumers.history.events import Event, Rejected
from partage.consumers.history.groups import History, Member, Round, histories
from partage.consumers.history.lines import MARKERS, events_of

__all__ = [
    "MARKERS",
    "Event",
    "History",
    "Member",
    "Rejected",
    "Round",
    "events_of",
    "histories",
]
