"""Partition → member: which member of a consumer group gets which partition."""
