"""What a consumer group is: who subscribes to what, who owns what."""

from partage.group.member import Member
from partage.group.model import Group

__all__ = ["Group", "Member"]
