"""Rebalance history from consumers' logs: lines → events → members → generations → owners.

- ``clients/``: how each client words its lines; one file each, a registry in its ``__init__.py``
- ``lines.py``: lines → events (``events.py``)
- ``members.py``: which member each event belongs to
- ``generations.py``: the rounds of the group
- ``ownership.py``: which member owned what, and when; ``unowned.py``: when no member did
- ``missing_information.py``: what the logs do not contain
- ``groups.py``: all of these together; ``model.py``: the result; ``shortening.py``: the part of it
  that is shown
- ``replay.py``: the same membership with other assignors and protocols
- ``saving.py``: what another assignor would have saved
"""

from partage.consumers.history.events import Event, Rejected
from partage.consumers.history.groups import EventGroups, history_of
from partage.consumers.history.lines import MARKERS, LogFile, events_of, plain_text
from partage.consumers.history.members import unrotated
from partage.consumers.history.model import History, MemberSession, RecordedRound

__all__ = [
    "MARKERS",
    "Event",
    "EventGroups",
    "History",
    "LogFile",
    "MemberSession",
    "RecordedRound",
    "Rejected",
    "events_of",
    "history_of",
    "plain_text",
    "unrotated",
]
