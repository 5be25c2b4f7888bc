"""What a consumer group is: who subscribes to what, who owns what."""

from partage.group.model import Group, Member

__all__ = ["Group", "Member"]
