"""The stages of the objective, as plan.json names them."""

from enum import StrEnum

RATE_SCALE = 2**30
"""``leader rate`` and ``zone bytes`` are counted in ``RATE_SCALE``-ths of all rates together:
integers, so that sums are exact."""


class StageName(StrEnum):
    """The stages of a plan's certificate; which of them a plan has depends on its options."""

    REPLICAS = "replicas"
    """Replicas per broker: the weighted sum of their squares."""
    MOVES = "moves"
    """Replicas that a broker must newly fetch."""
    TOPIC_SPREAD = "topic spread"
    """Sum of squares of the replicas of each topic on each broker."""
    BUDGET = "budget"
    """What a limit on moves, on bytes moved or on the tolerance leaves to optimise."""
    BYTES = "bytes"
    """The highest bytes of a broker, by capacity."""
    BYTES_MOVED = "bytes moved"
    """Bytes that the moves fetch."""
    LOG_DIRS = "log dirs"
    """Bytes that move between the log dirs of a broker."""
    LOAD = "load"
    """The worst distance of a broker's load from its band, in millionths of its fair share."""
    LEADERS = "leaders"
    """Preferred leaders per broker: the sum of their squares."""
    TOPIC_LEADERS = "topic leaders"
    """Preferred leaders of a topic per broker: the sum of their squares. Of new partitions."""
    LEADER_RATE = "leader rate"
    """The highest rate of produced bytes that a broker receives as preferred leader."""
    FAILURE = "failure"
    """Preferred leaders of the worst survivor, whichever broker fails, compared with all orders
    whose leaders per broker are as fair."""
    FAILURE_BALANCE = "failure balance"
    """The survivors' leaders after each failure: the sum of their squares, compared with orders
    that have the same worst survivor and the same leaders per broker."""
    JOINT_FAILURE_BALANCE = "joint failure balance"
    """The same, compared with all orders that have the same worst survivor and whose leaders per
    broker are as fair: found by a search."""
    ZONE_BYTES = "zone bytes"
    """What crosses racks, compared with orders that have the same leaders per broker and spread
    them as evenly after each failure."""
