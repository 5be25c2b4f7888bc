"""Rebalance history out of consumers' logs: lines → events → members → rounds, owners, gaps.

``clients/`` knows how each client words its lines (one file each, a registry in its
``__init__.py``), ``members.py`` whose each line is, ``rounds.py`` the generations, ``ownership.py``
who owned what, ``gaps.py`` when nobody did, and ``replay.py`` what other assignors and protocols
would have made of the same members. ``model.py`` is what comes out.
"""

from partage.consumers.history.events import Event, Rejected
from partage.consumers.history.groups import histories
from partage.consumers.history.lines import MARKERS, events_of
from partage.consumers.history.model import History, MemberSession, RecordedRound

__all__ = [
    "MARKERS",
    "Event",
    "History",
    "MemberSession",
    "RecordedRound",
    "Rejected",
    "events_of",
    "histories",
]
