"""A consumer group: members, subscriptions and owned partitions."""

from partage.group.member import Member
from partage.group.model import Group

__all__ = ["Group", "Member"]
